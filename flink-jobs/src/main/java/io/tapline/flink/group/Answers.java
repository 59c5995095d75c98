package io.tapline.flink.group;

/** Answer states of the tuples of a parser that pairs requests with responses. */
public final class Answers {
  public static final byte WHOLE = 0;

  /** The request was not answered, and no loss explains that. */
  public static final byte UNANSWERED = 1;

  /** One half is missing, which a gap or the capture's beginning or end explains. */
  public static final byte HALF_SEEN = 2;

  private Answers() {}
}
