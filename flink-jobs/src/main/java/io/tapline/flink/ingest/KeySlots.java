package io.tapline.flink.ingest;

import io.tapline.flink.group.KeyBuffer;
import java.util.Arrays;
import java.util.List;

/**
 * Numbers the distinct keys of a batch, so that its rows are grouped by small integers and a key's
 * bytes are made once a batch. A single text field costs nothing: its dictionary has done the work.
 */
final class KeySlots {
  private final Rows rows;
  private final List<String> fields;
  private final int[] slots;
  private final int count;
  private final int[] firstRow;

  /** REQUIRES: the fields were required of {@code rows}. */
  KeySlots(Rows rows, List<String> fields) {
    this.rows = rows;
    this.fields = fields;
    int[] numbered = new int[rows.count()];
    int distinct = 1;
    for (int i = 0; i < fields.size(); i++) {
      int[] field = rows.entries(fields.get(i));
      if (i == 0 && field != null) {
        numbered = field;
        distinct = rows.entryCount(fields.get(0));
      } else {
        LongSlots pairs = new LongSlots();
        numbered = combine(numbered, fieldSlots(fields.get(i)), pairs);
        distinct = pairs.size();
      }
    }
    slots = numbered;
    count = distinct;
    firstRow = firstRows();
  }

  private int[] fieldSlots(String field) {
    int[] entries = rows.entries(field);
    if (entries != null) {
      return entries;
    }
    LongSlots distinct = new LongSlots();
    return Arrays.stream(rows.numbers(field)).mapToInt(distinct::slot).toArray();
  }

  private static int[] combine(int[] left, int[] right, LongSlots pairs) {
    int[] combined = new int[left.length];
    for (int row = 0; row < left.length; row++) {
      combined[row] = pairs.slot((long) left[row] << 32 | right[row]);
    }
    return combined;
  }

  private int[] firstRows() {
    int[] first = new int[count];
    for (int row = slots.length - 1; row >= 0; row--) {
      first[slots[row]] = row;
    }
    return first;
  }

  int count() {
    return count;
  }

  int slot(int row) {
    return slots[row];
  }

  /** Writes a slot's key. */
  void key(int slot, KeyBuffer to) {
    to.clear();
    for (String field : fields) {
      rows.keyPart(field, firstRow[slot], to);
    }
  }
}
