package io.tapline.conditions;

/** Thrown for an invalid tree, with a message for users. */
public final class ConditionException extends Exception {
  private static final long serialVersionUID = 1;

  private final int at;

  ConditionException(int at, String message) {
    super(message);
    this.at = at;
  }

  /** Returns the byte offset in the text at which the invalid part begins. */
  public int at() {
    return at;
  }
}
