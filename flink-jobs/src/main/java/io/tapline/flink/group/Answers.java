package io.tapline.flink.group;

/** How a tuple of a parser that pairs requests with responses was answered. */
public final class Answers {
  public static final byte WHOLE = 0;

  /** Nobody answered, and no loss explains that. */
  public static final byte UNANSWERED = 1;

  /** One half is missing, and a gap or the capture's beginning or end explains that. */
  public static final byte HALF_SEEN = 2;

  private Answers() {}
}
