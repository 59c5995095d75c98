package io.tapline.control.testbed;

/**
 * Thrown when the testbed can't fulfil a request; the message states why and, if possible, what to
 * do.
 */
public final class TestbedException extends Exception {
  private static final long serialVersionUID = 1L;

  TestbedException(String message) {
    super(message);
  }

  TestbedException(String message, Throwable cause) {
    super(message, cause);
  }
}
