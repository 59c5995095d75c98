package io.tapline.placement;

/** Thrown when a placement is impossible; the message states what, where, and what would help. */
public final class PlacementException extends RuntimeException {
  private static final long serialVersionUID = 1L;

  /** The obstacle. */
  public enum Code {
    /** A flow is larger than a monitor's capacity. */
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
