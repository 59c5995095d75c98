package io.tapline.conditions;

/** A tree that makes no sense, for its reader. */
public final class ConditionException extends Exception {
  private static final long serialVersionUID = 1;

  private final int at;

  ConditionException(int at, String message) {
    super(message);
    this.at = at;
  }

  /** Returns the byte of the text at which the wrong part begins. */
  public int at() {
    return at;
  }
}
