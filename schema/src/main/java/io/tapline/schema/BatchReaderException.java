package io.tapline.schema;

/**
 * Thrown for a record that is not a tuple batch, or that is inconsistent; the message states the
 * error.
 */
public final class BatchReaderException extends Exception {
  /** Kind of record, for counters. */
  public enum Reason {
    /** The bytes are not a tuple batch, or its columns contradict each other. */
    MALFORMED,
    /** The layout is newer or older than the reader's. */
    UNKNOWN_FORMAT
  }

  private final Reason reason;

  BatchReaderException(Reason reason, String message) {
    // Omits the stack trace: these records are only counted, and a flood of them must stay cheap.
    super(message, null, false, false);
    this.reason = reason;
  }

  /**
   * Returns the error for a batch that is inconsistent, or lacks columns that its parser declares.
   */
  public static BatchReaderException malformed(String message) {
    return new BatchReaderException(Reason.MALFORMED, message);
  }

  public Reason reason() {
    return reason;
  }
}
