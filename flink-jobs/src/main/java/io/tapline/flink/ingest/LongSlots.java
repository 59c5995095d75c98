package io.tapline.flink.ingest;

import java.util.Arrays;

/** Numbers distinct 64-bit values from 0 in order of first appearance. */
final class LongSlots {
  private int[] index = new int[64];
  private long[] values = new long[32];
  private int size;

  int slot(long value) {
    int mask = index.length - 1;
    int slot = (int) (value * 0x9e3779b97f4a7c15L >>> 32) & mask;
    for (; index[slot] != 0; slot = slot + 1 & mask) {
      if (values[index[slot] - 1] == value) {
        return index[slot] - 1;
      }
    }
    values[size] = value;
    index[slot] = ++size;
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
      int slot = (int) (values[i] * 0x9e3779b97f4a7c15L >>> 32) & mask;
      while (index[slot] != 0) {
        slot = slot + 1 & mask;
      }
      index[slot] = i + 1;
    }
  }

  int size() {
    return size;
  }
}
