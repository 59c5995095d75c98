package io.tapline.flink.group;

import java.io.DataInput;
import java.io.DataOutput;
import java.io.IOException;
import java.util.Arrays;

/**
 * The distribution of one group's values, mergeable, and independent of the order of values and
 * merges: the value of any rank is exact for up to 2048 distinct values, and lies between
 * guaranteed bounds from there on; the histogram is exact.
 *
 * <p>Histogram bounds are the same for every group, two per octave: 0, 1, 2, 3, 4, 6, 8, 12, 16,
 * 24…: a value is in the bucket of the least bound that is not below it.
 */
public final class Distribution {
  /** Up to this many distinct values are exact. */
  public static final int EXACT = ValueCounts.MOST;

  private static final int MOST_LOOSE = 1024;
  private static final int BUCKETS = 127;

  /** Values in the order of arrival; the others are counted. */
  private double[] loose = new double[4];

  private int size;
  private ValueCounts counted = ValueCounts.NONE;

  public void update(double value) {
    if (counted.increment(value)) {
      return;
    }
    if (size == MOST_LOOSE) {
      count();
    }
    if (size == loose.length) {
      loose = Arrays.copyOf(loose, 2 * size);
    }
    loose[size++] = value;
  }

  private void count() {
    if (size == 0) {
      return;
    }
    counted = ValueCounts.merge(counted, ValueCounts.of(loose, size));
    size = 0;
  }

  public void merge(Distribution other) {
    if (other.counted.size() > 0) {
      counted = ValueCounts.merge(counted, other.counted);
    }
    for (int i = 0; i < other.size; i++) {
      update(other.loose[i]);
    }
  }

  /**
   * Returns the values of these ranks, given as shares of all values: for each, the middle of the
   * bounds of {@link #quantile}.
   */
  public double[] quantiles(double... shares) {
    return Arrays.stream(shares).map(share -> quantile(share).number()).toArray();
  }

  /**
   * Returns the smallest value that at least this share of all values does not exceed; none if
   * there are no values.
   */
  Value quantile(double share) {
    count();
    if (counted.size() == 0) {
      return Value.NONE;
    }
    long values = 0;
    for (int cell = 0; cell < counted.size(); cell++) {
      values += counted.count(cell);
    }
    int cell = counted.cellOf((long) Math.ceil(share * values));
    double low = counted.low(cell);
    double high = counted.high(cell);
    return low == high ? Value.real(high) : new Value(low / 2 + high / 2, 0, false, low, high);
  }

  /** Returns the number of values per bucket, see {@link #bound}. */
  public long[] histogram() {
    count();
    long[] histogram = new long[BUCKETS];
    for (int cell = 0; cell < counted.size(); cell++) {
      histogram[bucket(counted.high(cell))] += counted.count(cell);
    }
    return histogram;
  }

  /**
   * Returns the inclusive upper bound of a bucket: 0, 1, 2, 3, 4, 6, 8…; the last one has all the
   * rest.
   */
  public static long bound(int bucket) {
    if (bucket < 2) {
      return bucket;
    }
    if (bucket == BUCKETS - 1) {
      return Long.MAX_VALUE;
    }
    return bucket % 2 == 0 ? 1L << bucket / 2 : 3L << bucket / 2 - 1;
  }

  static int bucket(double value) {
    if (!(value > 0)) {
      return 0;
    }
    int low = 1;
    int high = BUCKETS - 1;
    while (low < high) {
      int middle = (low + high) >>> 1;
      if (value <= bound(middle)) {
        high = middle;
      } else {
        low = middle + 1;
      }
    }
    return low;
  }

  void write(DataOutput out) throws IOException {
    counted.write(out);
    Wire.writeUnsigned(out, size);
    for (int i = 0; i < size; i++) {
      out.writeDouble(loose[i]);
    }
  }

  static Distribution read(DataInput in) throws IOException {
    Distribution distribution = new Distribution();
    distribution.counted = ValueCounts.read(in);
    for (long i = Wire.readUnsigned(in); i > 0; i--) {
      distribution.update(in.readDouble());
    }
    return distribution;
  }
}
