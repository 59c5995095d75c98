package io.tapline.network.rules;

/**
 * Thrown when a switch's table has no room for what is wanted; the message states how much is
 * missing.
 */
public final class TooManyRules extends RuntimeException {
  private static final long serialVersionUID = 1L;

  TooManyRules(String message) {
    super(message);
  }
}
