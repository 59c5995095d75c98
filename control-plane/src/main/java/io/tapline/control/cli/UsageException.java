package io.tapline.control.cli;

/**
 * Thrown for wrong usage. The message states what is wrong and what would be right. Exit code 2.
 */
final class UsageException extends RuntimeException {
  private static final long serialVersionUID = 1L;

  UsageException(String message) {
    super(message);
  }
}
