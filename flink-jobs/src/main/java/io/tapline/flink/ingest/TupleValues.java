package io.tapline.flink.ingest;

import io.tapline.flink.ProcessorSpec;
import io.tapline.schema.BatchReaderException;

/**
 * The values that a processor takes from each row of a batch.
 *
 * @param bits whole numbers, bits of doubles or, if distinct values are counted, hashes; null if
 *     tuples are only counted
 * @param absent rows without a value; null if there are none, as in most batches
 */
record TupleValues(long[] bits, boolean[] absent) {
  /** Decodes the columns that {@link #of} reads; throws if the batch is malformed. */
  static void require(ProcessorSpec spec, Rows rows) throws BatchReaderException {
    if (spec.value().asks()) {
      rows.requireCondition(spec.value().asked());
    } else if (spec.takesHashes() || spec.countsPresent()) {
      rows.require(spec.value().field());
    } else if (!spec.value().field().isEmpty()) {
      rows.requireNumber(spec.value().field());
    }
    if (spec.value().narrows()) {
      rows.requireCondition(spec.value().only());
    }
  }

  /** Returns the rows' values. REQUIRES: {@link #require} was called for the rows. */
  static TupleValues of(ProcessorSpec spec, Rows rows) {
    if (spec.value().asks()) {
      return new TupleValues(rows.meeting(spec.value().asked()), null);
    } else if (spec.value().countsTuples()) {
      return new TupleValues(null, null);
    }
    String field = spec.value().field();
    long[] bits =
        spec.takesHashes()
            ? rows.hashes(field)
            : spec.countsPresent() ? new long[rows.count()] : rows.values(field);
    return new TupleValues(bits, absent(spec, rows));
  }

  private static boolean[] absent(ProcessorSpec spec, Rows rows) {
    boolean[] absent = rows.absent(spec.value().field());
    if (!spec.value().narrows()) {
      return absent;
    }
    long[] meeting = rows.meeting(spec.value().only());
    boolean[] none = new boolean[meeting.length];
    for (int row = 0; row < none.length; row++) {
      none[row] = meeting[row] == 0 || absent != null && absent[row];
    }
    return none;
  }

  /** Returns a row's value; 1 if tuples are only counted. */
  long at(int row) {
    return bits == null ? 1 : bits[row];
  }

  boolean isPresent(int row) {
    return absent == null || !absent[row];
  }
}
