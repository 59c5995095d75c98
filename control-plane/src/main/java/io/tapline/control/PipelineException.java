package io.tapline.control;

/** Something in the pipeline failed. The message says what was wrong, where, and what to do. */
public final class PipelineException extends Exception {
  private static final long serialVersionUID = 1L;

  /** Whose fault it is. */
  public enum Kind {
    /**
     * What the user asked for can't be done as asked: a file that is no capture, an interface that
     * is not there.
     */
    USER,
    /** The host lacks something: memory, disk, permission, a program, a server that answers. */
    RESOURCES,
    /** A defect of ours. */
    INTERNAL
  }

  private final Kind kind;

  public PipelineException(Kind kind, String message) {
    this(kind, message, null);
  }

  public PipelineException(Kind kind, String message, Throwable cause) {
    super(message, cause);
    this.kind = kind;
  }

  public Kind kind() {
    return kind;
  }
}
