package io.tapline.compiler.conditions;

import io.tapline.compiler.conditions.ConditionTokens.Token;
import io.tapline.compiler.text.Names;

/** A syntax error in a condition, with a message for the user. */
public final class ConditionSyntaxException extends Exception {
  private static final long serialVersionUID = 1;

  private final int at;
  private final int end;
  private final String expected;

  /**
   * Creates an error that marks one byte.
   *
   * @param position byte offset in the UTF-8 text at which the invalid part begins
   * @param expected valid input at that position
   */
  ConditionSyntaxException(int position, String message, String expected) {
    this(position, position + 1, message, expected);
  }

  /** Creates an error that marks a token. */
  ConditionSyntaxException(Token token, String message, String expected) {
    this(token.at(), token.end(), message, expected);
  }

  private ConditionSyntaxException(int position, int end, String message, String expected) {
    super(message);
    this.at = position;
    this.end = end;
    this.expected = expected;
  }

  /** Returns an error for a name that is not a header field. */
  public static ConditionSyntaxException noField(String name, int position) {
    return new ConditionSyntaxException(
        position, Names.quoted(name) + " is not a header field", "a field");
  }

  /** Returns the byte offset in the text at which the invalid part begins. */
  public int at() {
    return at;
  }

  /** Returns the byte offset after the invalid part. */
  public int end() {
    return end;
  }

  /** Returns a description of the valid input at {@link #at}. */
  public String expected() {
    return expected;
  }

  /** Returns the error and its position as one sentence. */
  public String sentence() {
    return "%s, expected %s (at byte %d of the expression)".formatted(getMessage(), expected, at);
  }
}
