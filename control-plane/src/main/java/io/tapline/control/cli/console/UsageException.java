package io.tapline.control.cli.console;

/**
 * Thrown for wrong usage of a command, which then exits with code 2. The message must state what is
 * wrong and give the right usage.
 */
public final class UsageException extends RuntimeException {
  private static final long serialVersionUID = 1L;

  public UsageException(String message) {
    super(message);
  }
}
