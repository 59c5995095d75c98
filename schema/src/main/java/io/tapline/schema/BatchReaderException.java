package io.tapline.schema;

/**
 * Thrown for a record that is not a tuple batch, has an unknown format, or is inconsistent. The
 * message states the fault.
 */
public final class BatchReaderException extends Exception {
  /** The reason for rejecting a record, for counters. */
  public enum Reason {
    /** The record is not a tuple batch, or the batch is inconsistent or lacks declared columns. */
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

  /** Returns an exception with the reason {@link Reason#MALFORMED}. */
  public static BatchReaderException malformed(String message) {
    return new BatchReaderException(Reason.MALFORMED, message);
  }

  public Reason reason() {
    return reason;
  }
}
