package io.tapline.schema;

/**
 * A record that is not a tuple batch, or one that contradicts itself; says what is wrong with it.
 */
public final class BatchReaderException extends Exception {
  /** Kind of record, for counters. */
  public enum Reason {
    /** Not the Protobuf message, or its columns contradict each other. */
    MALFORMED,
    /** A layout newer or older than this reader. */
    UNKNOWN_FORMAT
  }

  private final Reason reason;

  BatchReaderException(Reason reason, String message) {
    // Counted, not debugged: a flood of bad records must not cost a stack trace each.
    super(message, null, false, false);
    this.reason = reason;
  }

  /** A batch that contradicts itself, or lacks what its parser declares. */
  public static BatchReaderException malformed(String message) {
    return new BatchReaderException(Reason.MALFORMED, message);
  }

  public Reason reason() {
    return reason;
  }
}
