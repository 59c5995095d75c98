package io.tapline.control.cli.console;

/**
 * Thrown when a command fails, which then exits with code 1. The message must state the problem,
 * its location, and the remedy.
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
