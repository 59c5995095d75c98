package io.tapline.flink.group;

/** Whether and how a tuple of a parser that pairs requests with responses was answered. */
public final class Answers {
  public static final byte WHOLE = 0;

  /** There was no answer, and no loss explains that. */
  public static final byte UNANSWERED = 1;

  /** One half is missing, which a gap or the capture's beginning or end explains. */
  public static final byte HALF_SEEN = 2;

  private Answers() {}
}
