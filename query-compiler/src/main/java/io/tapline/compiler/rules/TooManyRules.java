package io.tapline.compiler.rules;

/** A switch's table has no room for what is wanted; the message says how much is missing. */
public final class TooManyRules extends RuntimeException {
  private static final long serialVersionUID = 1L;

  TooManyRules(String message) {
    super(message);
  }
}
