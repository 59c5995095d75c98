package io.tapline.control.probe;

/** A fault of a server. The message is shown after the server's name and a colon. */
final class Fault extends Exception {
  private static final long serialVersionUID = 1L;

  Fault(String message) {
    super(message);
  }

  Fault(String message, Throwable cause) {
    super(message, cause);
  }
}
