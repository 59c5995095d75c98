package io.tapline.compiler;

/** A filter that can't be understood; for the user. */
public final class FilterException extends Exception {
  private static final long serialVersionUID = 1;

  private final int at;

  /**
   * An error in a filter.
   *
   * @param at byte of the text, in UTF-8, at which the wrong part begins
   */
  FilterException(int at, String message) {
    super(message);
    this.at = at;
  }

  /** Returns an error for a name that is none of a header's. */
  public static FilterException noField(String name, int at) {
    return new FilterException(at, Names.quoted(name) + " is no field of a header");
  }

  /** Returns the byte of the text at which the wrong part begins. */
  public int at() {
    return at;
  }

  /** Returns what is wrong, and where. */
  public String sentence() {
    return getMessage() + " (at byte " + at + " of the expression)";
  }
}
