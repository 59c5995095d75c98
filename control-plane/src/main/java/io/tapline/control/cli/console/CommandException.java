package io.tapline.control.cli.console;

/**
 * Thrown when a command fails. The message states what was wrong, where, and what to do. Exit code
 * 1.
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
