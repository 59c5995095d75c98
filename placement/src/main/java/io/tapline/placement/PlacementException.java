package io.tapline.placement;

/** What was asked can't be placed; the message says what, where, and what would help. */
public final class PlacementException extends RuntimeException {
  private static final long serialVersionUID = 1L;

  /** What is in the way. */
  public enum Code {
    /** A flow is larger than what a monitor can take. */
    FLOW_TOO_LARGE,
    /** No host has room where a process is needed. */
    NO_HOST
  }

  private final Code code;

  public PlacementException(Code code, String message) {
    super(message);
    this.code = code;
  }

  public Code code() {
    return code;
  }
}
