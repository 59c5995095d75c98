package io.tapline.flink.group;

/** Answer states of the tuples of a parser that pairs requests with responses. */
public final class Answers {
  public static final byte WHOLE = 0;

  /** No response was seen, and no loss explains its absence. */
  public static final byte UNANSWERED = 1;

  /**
   * The request or the response is missing because of a gap, or because the capture began or ended
   * in between.
   */
  public static final byte HALF_SEEN = 2;

  private Answers() {}
}
