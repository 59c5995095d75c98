package io.tapline.flink.ingest;

import io.tapline.flink.group.KeyBuffer;
import java.util.Arrays;
import java.util.List;

/**
 * Numbers the distinct keys of a batch, so that rows are grouped by small integers and each key is
 * encoded once per batch. A single field with a dictionary needs no work, since the dictionary
 * already numbers the values.
 */
final class KeySlots {
  private final Rows rows;
  private final int[] slots;
  private final int count;
  private final KeyColumn[] columns;

  /** Numbers the rows' keys. REQUIRES: {@link Rows#require} was called for the fields. */
  KeySlots(Rows rows, List<String> fields) {
    this.rows = rows;
    int[] numbered = new int[rows.count()];
    int distinct = 1;
    for (int i = 0; i < fields.size(); i++) {
      int[] field = rows.entries(fields.get(i));
      if (i == 0 && field != null) {
        numbered = field;
        // Rows without a value have the slot after that of the last entry.
        distinct = rows.entryCount(fields.get(0)) + 1;
      } else {
        LongSlots pairs = new LongSlots();
        numbered = combine(numbered, fieldSlots(fields.get(i)), pairs);
        distinct = pairs.size();
      }
    }
    slots = numbered;
    count = distinct;
    columns = fields.stream().map(rows::keyColumn).toArray(KeyColumn[]::new);
  }

  private int[] fieldSlots(String field) {
    int[] entries = rows.entries(field);
    if (entries != null) {
      return entries;
    }
    LongSlots distinct = new LongSlots();
    int[] numbered = Arrays.stream(rows.numbers(field)).mapToInt(distinct::slot).toArray();
    boolean[] absent = rows.absent(field);
    for (int row = 0; absent != null && row < numbered.length; row++) {
      numbered[row] = absent[row] ? distinct.size() : numbered[row];
    }
    return numbered;
  }

  private static int[] combine(int[] left, int[] right, LongSlots pairs) {
    int[] combined = new int[left.length];
    for (int row = 0; row < left.length; row++) {
      combined[row] = pairs.slot((long) left[row] << 32 | right[row]);
    }
    return combined;
  }

  int count() {
    return count;
  }

  int slot(int row) {
    return slots[row];
  }

  /** Appends the key of a row. */
  void key(int row, KeyBuffer target) {
    for (KeyColumn column : columns) {
      column.append(row, target);
    }
  }
}
