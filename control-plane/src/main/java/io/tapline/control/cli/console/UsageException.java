package io.tapline.control.cli.console;

/**
 * Thrown for wrong usage. The message states what is wrong and gives the right usage. Exit code 2.
 */
public final class UsageException extends RuntimeException {
  private static final long serialVersionUID = 1L;

  public UsageException(String message) {
    super(message);
  }
}
