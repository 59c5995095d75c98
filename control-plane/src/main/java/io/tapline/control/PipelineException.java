package io.tapline.control;

/** A failure in the pipeline. The message states what is wrong, where, and what to do. */
public final class PipelineException extends Exception {
  private static final long serialVersionUID = 1L;

  /** The party at fault. */
  public enum Kind {
    /**
     * The user's request can't be fulfilled; for example, a file is not a capture, or an interface
     * does not exist.
     */
    USER,
    /** The host lacks something: memory, disk, permission, a program, a reachable server. */
    RESOURCES,
    /** A bug in Tapline. */
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
