package io.tapline.network.rules;

/**
 * Thrown when a switch's table has no room for the rules; the message states how many are needed.
 */
public final class TooManyRules extends RuntimeException {
  private static final long serialVersionUID = 1L;

  TooManyRules(String message) {
    super(message);
  }
}
