package io.tapline.conditions;

/** Thrown for an invalid tree, with a user-facing message. */
public final class ConditionException extends Exception {
  private static final long serialVersionUID = 1;

  private final int at;

  ConditionException(int position, String message) {
    super(message);
    this.at = position;
  }

  /** Returns the byte offset in the text at which the invalid part begins. */
  public int at() {
    return at;
  }
}
