package io.tapline.placement;

/** Thrown if no placement is found. The message names the obstacle, its location and a remedy. */
public final class PlacementException extends RuntimeException {
  private static final long serialVersionUID = 1L;

  /** Kind of obstacle. */
  public enum Code {
    /** A flow is larger than a monitor's capacity. */
    FLOW_TOO_LARGE,
    /** No host that could run a required process has room. */
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
