package io.tapline.flink.group;

/** Answer states of the tuples of a parser that pairs requests with responses. */
public final class Answers {
  public static final byte WHOLE = 0;

  /** The request was not answered, and no loss explains that. */
  public static final byte UNANSWERED = 1;

  /** One half is missing because of a gap, or because the capture began or ended in between. */
  public static final byte HALF_SEEN = 2;

  private Answers() {}
}
