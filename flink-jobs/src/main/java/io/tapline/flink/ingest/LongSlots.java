package io.tapline.flink.ingest;

import java.util.Arrays;

/** Numbers distinct 64-bit values from 0 in order of first appearance. */
final class LongSlots {
  private int[] index = new int[64];
  private long[] values = new long[32];
  private int size;

  int slot(long value) {
    int mask = index.length - 1;
    int at = (int) (value * 0x9e3779b97f4a7c15L >>> 32) & mask;
    for (; index[at] != 0; at = at + 1 & mask) {
      if (values[index[at] - 1] == value) {
        return index[at] - 1;
      }
    }
    values[size] = value;
    index[at] = ++size;
    if (size == values.length) {
      grow();
    }
    return size - 1;
  }

  private void grow() {
    values = Arrays.copyOf(values, 2 * size);
    index = new int[4 * size];
    int mask = index.length - 1;
    for (int i = 0; i < size; i++) {
      int at = (int) (values[i] * 0x9e3779b97f4a7c15L >>> 32) & mask;
      while (index[at] != 0) {
        at = at + 1 & mask;
      }
      index[at] = i + 1;
    }
  }

  int size() {
    return size;
  }
}
