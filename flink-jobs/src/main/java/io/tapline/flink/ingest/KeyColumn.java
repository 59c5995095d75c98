package io.tapline.flink.ingest;

import io.tapline.flink.group.Key;
import io.tapline.flink.group.KeyBuffer;
import io.tapline.schema.TupleColumns;
import io.tapline.schema.proto.Column;

/** One key field of a batch, with its dictionary in one array. Immutable. */
final class KeyColumn {
  private final Column.Type type;
  private final long[] numbers;
  private final int[] entries;
  private final boolean[] absent;
  private final byte[] dictionary;
  private final int[] ends;

  /**
   * Creates a column. REQUIRES: exactly one of {@code numbers} (by row) and {@code entries} (each
   * row's dictionary entry) is null.
   *
   * @param absent rows without a value; null if there are none
   */
  KeyColumn(TupleColumns columns, int column, long[] numbers, int[] entries, boolean[] absent) {
    this.type = columns.type(column);
    this.numbers = numbers;
    this.entries = entries;
    this.absent = absent;
    this.dictionary = entries == null ? null : columns.dictionary(column);
    this.ends = new int[entries == null ? 0 : columns.entries(column)];
    for (int entry = 0; entry < ends.length; entry++) {
      ends[entry] = columns.entryEnd(column, entry);
    }
  }

  /** Appends a row's value. */
  void append(int row, KeyBuffer target) {
    if (absent != null && absent[row]) {
      target.append(Key.ABSENT);
      return;
    }
    if (entries == null) {
      target.number(type, numbers[row]);
      return;
    }
    int entry = entries[row];
    target.bytes(type, dictionary, entry == 0 ? 0 : ends[entry - 1], ends[entry]);
  }
}
