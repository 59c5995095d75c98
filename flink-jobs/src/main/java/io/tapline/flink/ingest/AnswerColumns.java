package io.tapline.flink.ingest;

import io.tapline.flink.group.Answers;
import io.tapline.schema.BatchReaderException;
import io.tapline.schema.TupleColumns;
import io.tapline.schema.proto.Column;

/**
 * Reads the answer states of a batch's tuples, for parsers that record them in two columns: {@code
 * partial}, which is empty if both request and response were seen, and {@code unanswered}.
 */
final class AnswerColumns {
  private static final String PARTIAL = "partial";
  private static final String UNANSWERED = "unanswered";

  private AnswerColumns() {}

  /**
   * Returns one of {@link Answers} for each row; null if the dictionary shows that all are whole,
   * or if the parser does not record the states.
   */
  static byte[] read(TupleColumns columns) throws BatchReaderException {
    int partial = columns.index(PARTIAL);
    int unanswered = columns.index(UNANSWERED);
    boolean isKnown =
        partial >= 0
            && unanswered >= 0
            && columns.type(partial) == Column.Type.STRING
            && columns.type(unanswered) == Column.Type.BOOL;
    return isKnown && !allAnswered(columns, partial) ? read(columns, partial, unanswered) : null;
  }

  /**
   * Returns true if the dictionary alone shows that no tuple is partial, without reading the rows.
   */
  private static boolean allAnswered(TupleColumns columns, int partial) {
    int entries = columns.entries(partial);
    return entries == 0 || entries == 1 && columns.entryEnd(partial, 0) == 0;
  }

  private static byte[] read(TupleColumns columns, int partial, int unanswered)
      throws BatchReaderException {
    int[] halves = columns.entryOfRows(partial);
    long[] silent = columns.longs(unanswered);
    boolean[] unknown = columns.absent(unanswered);
    byte[] responses = new byte[halves.length];
    for (int row = 0; row < responses.length; row++) {
      boolean isWhole =
          halves[row] == columns.entries(partial)
              || columns.entryStart(partial, halves[row]) == columns.entryEnd(partial, halves[row]);
      boolean silentRow = silent[row] != 0 && (unknown == null || !unknown[row]);
      responses[row] = isWhole ? Answers.WHOLE : silentRow ? Answers.UNANSWERED : Answers.HALF_SEEN;
    }
    return responses;
  }
}
