package io.tapline.control.testbed;

/** The testbed can't do what it was asked for; the message says why and what to do. */
public final class TestbedException extends Exception {
  private static final long serialVersionUID = 1L;

  TestbedException(String message) {
    super(message);
  }

  TestbedException(String message, Throwable cause) {
    super(message, cause);
  }
}
