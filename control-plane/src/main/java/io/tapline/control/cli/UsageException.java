package io.tapline.control.cli;

/** What was typed is wrong. The message says what and how it would be right. Exit code 2. */
final class UsageException extends RuntimeException {
  private static final long serialVersionUID = 1L;

  UsageException(String message) {
    super(message);
  }
}
