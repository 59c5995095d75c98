package io.tapline.aggregates.distribution;

import io.tapline.aggregates.Wire;
import java.io.DataInput;
import java.io.DataOutput;
import java.io.IOException;
import java.util.Arrays;

/**
 * Counts how often each value occurred, for up to {@link #MAX_DISTINCT} distinct values. Beyond
 * that, counts the values in each of several ranges (cells), and doubles the width of all cells
 * whenever there would be more than {@link #MAX_DISTINCT}.
 *
 * <p>Cells are as narrow as the values seen so far permit. So the counts depend only on the values,
 * not on the order in which they arrived or were merged: reading an input twice gives the same
 * result, unlike quantile sketches that use random bits or compact the latest values.
 *
 * <p>A cell's number is made from the bits of its values, transformed so that they sort like the
 * values, minus 1, without the lowest {@code shift} bits. A cell contains the values above its
 * lower end, up to and including its upper end. Each power of two, and 1.5 times each, is the lower
 * end of a cell, as long as values lie within 500 octaves.
 */
final class ValueCounts {
  static final int MAX_DISTINCT = 2048;

  /** The empty counts. */
  static final ValueCounts NONE = new ValueCounts(new long[0], new long[0], 0, 0);

  private long[] cells;
  private long[] counts;
  private int size;
  private int shift;

  private ValueCounts(long[] cells, long[] counts, int size, int shift) {
    this.cells = cells;
    this.counts = counts;
    this.size = size;
    this.shift = shift;
  }

  /**
   * Returns the counts of the first {@code length} values, and sorts these. REQUIRES: {@code
   * length} is at most {@link #MAX_DISTINCT}.
   */
  static ValueCounts of(double[] values, int length) {
    Arrays.sort(values, 0, length);
    long[] cells = new long[length];
    long[] counts = new long[length];
    int size = 0;
    for (int i = 0; i < length; i++) {
      long cell = order(values[i]) - 1;
      if (size == 0 || cells[size - 1] != cell) {
        cells[size++] = cell;
      }
      counts[size - 1]++;
    }
    return new ValueCounts(cells, counts, size, 0);
  }

  /** Increments the count of a value's cell; returns false if there is no such cell. */
  boolean increment(double value) {
    int index = Arrays.binarySearch(cells, 0, size, order(value) - 1 >> shift);
    if (index < 0) {
      return false;
    }
    counts[index]++;
    return true;
  }

  /** Returns the sum of both counts. */
  static ValueCounts merge(ValueCounts one, ValueCounts other) {
    int shift = Math.max(one.shift, other.shift);
    int onePlus = shift - one.shift;
    int otherPlus = shift - other.shift;
    long[] cells = new long[one.size + other.size];
    long[] counts = new long[cells.length];
    int size = 0;
    int i = 0;
    int j = 0;
    while (i < one.size || j < other.size) {
      boolean takeOne =
          j == other.size || i < one.size && one.cells[i] >> onePlus <= other.cells[j] >> otherPlus;
      long cell = takeOne ? one.cells[i] >> onePlus : other.cells[j] >> otherPlus;
      if (size == 0 || cells[size - 1] != cell) {
        cells[size++] = cell;
      }
      counts[size - 1] += takeOne ? one.counts[i++] : other.counts[j++];
    }
    ValueCounts merged = new ValueCounts(cells, counts, size, shift);
    merged.coarsen();
    return merged;
  }

  /** Coarsens the cells as little as needed to keep at most {@link #MAX_DISTINCT} of them. */
  private void coarsen() {
    // Two neighbouring cells merge once the highest bit in which they differ is dropped.
    int[] differing = new int[Long.SIZE];
    for (int i = 1; i < size; i++) {
      differing[Long.SIZE - 1 - Long.numberOfLeadingZeros(cells[i] ^ cells[i - 1])]++;
    }
    int less = 0;
    for (int left = size; left > MAX_DISTINCT; less++) {
      left -= differing[less];
    }
    if (less > 0) {
      int kept = 0;
      for (int i = 0; i < size; i++) {
        long cell = cells[i] >> less;
        long count = counts[i];
        if (kept > 0 && cells[kept - 1] == cell) {
          counts[kept - 1] += count;
        } else {
          cells[kept] = cell;
          counts[kept++] = count;
        }
      }
      size = kept;
      shift += less;
    }
    cells = Arrays.copyOf(cells, size);
    counts = Arrays.copyOf(counts, size);
  }

  /** Returns the number of cells. */
  int size() {
    return size;
  }

  /** Returns the count of a cell; cells are in ascending order. */
  long count(int cell) {
    return counts[cell];
  }

  /** Returns the lower end of a cell, which is exclusive unless it equals {@link #high}. */
  double low(int cell) {
    return shift == 0 ? high(cell) : value(cells[cell] << shift);
  }

  /** Returns the inclusive upper end of a cell. */
  double high(int cell) {
    long next = cells[cell] + 1;
    return next > Long.MAX_VALUE >> shift ? Double.MAX_VALUE : value(next << shift);
  }

  /** Returns the cell that contains the value of this rank; ranks begin at 1. */
  int cellOf(long rank) {
    long below = 0;
    for (int cell = 0; cell < size - 1; cell++) {
      below += counts[cell];
      if (below >= rank) {
        return cell;
      }
    }
    return size - 1;
  }

  private static long order(double value) {
    long bits = Double.doubleToLongBits(value + 0.0); // -0 becomes 0
    return bits ^ bits >> 63 & Long.MAX_VALUE;
  }

  /** Inverts {@link #order}; clamps to finite doubles, since JSON has no infinities. */
  private static double value(long order) {
    order = Math.max(order(-Double.MAX_VALUE), Math.min(order, order(Double.MAX_VALUE)));
    return Double.longBitsToDouble(order ^ order >> 63 & Long.MAX_VALUE);
  }

  void write(DataOutput out) throws IOException {
    Wire.writeUnsigned(out, shift);
    Wire.writeUnsigned(out, size);
    long previousCount = 0;
    for (int i = 0; i < size; i++) {
      Wire.writeSigned(out, cells[i] - previousCount);
      Wire.writeUnsigned(out, counts[i]);
      previousCount = cells[i];
    }
  }

  static ValueCounts read(DataInput in) throws IOException {
    int shift = (int) Wire.readUnsigned(in);
    int size = (int) Wire.readUnsigned(in);
    long[] cells = new long[size];
    long[] counts = new long[size];
    long previousCount = 0;
    for (int i = 0; i < size; i++) {
      previousCount += Wire.readSigned(in);
      cells[i] = previousCount;
      counts[i] = Wire.readUnsigned(in);
    }
    return new ValueCounts(cells, counts, size, shift);
  }
}
