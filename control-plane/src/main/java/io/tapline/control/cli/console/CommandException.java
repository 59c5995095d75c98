package io.tapline.control.cli.console;

/**
 * Thrown when a command fails, which then exits with code 1. The message must state what is wrong,
 * where, and what to do.
 */
public class CommandException extends RuntimeException {
  private static final long serialVersionUID = 1L;

  public CommandException(String message) {
    super(message);
  }

  public CommandException(String message, Throwable cause) {
    super(message, cause);
  }
}
