package io.tapline.aggregates.distribution;

import io.tapline.aggregates.Accumulator;
import io.tapline.aggregates.Group;
import io.tapline.aggregates.Histogram;
import io.tapline.aggregates.Value;
import io.tapline.aggregates.Wire;
import java.io.DataInput;
import java.io.DataOutput;
import java.io.IOException;
import java.util.Arrays;

/**
 * One group's values. Mergeable; the result does not depend on the order of values and merges. The
 * value of any rank is exact for up to 2048 distinct values and has guaranteed bounds beyond that.
 * The histogram is exact. Not thread-safe.
 */
public final class Values implements Accumulator<Values> {
  /** Maximum number of distinct values for which all ranks are exact. */
  public static final int EXACT = ValueCounts.MAX_DISTINCT;

  private static final int MAX_UNSORTED = 1024;

  /** Values that are not counted yet, in order of arrival. */
  private double[] loose = new double[4];

  private int size;
  private ValueCounts counted = ValueCounts.NONE;

  @Override
  public void add(double value) {
    if (counted.increment(value)) {
      return;
    }
    if (size == MAX_UNSORTED) {
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

  @Override
  public void merge(Values other) {
    if (other.counted.size() > 0) {
      counted = ValueCounts.merge(counted, other.counted);
    }
    for (int i = 0; i < other.size; i++) {
      add(other.loose[i]);
    }
  }

  /**
   * Returns the values at these ranks, which are given as fractions of all values. Each value is
   * the midpoint of the bounds that {@link #quantile} returns.
   */
  public double[] quantiles(double... shares) {
    return Arrays.stream(shares).map(share -> quantile(share).number()).toArray();
  }

  /**
   * Returns the smallest value that at least this share of all values do not exceed, with its
   * bounds; none if there are no values.
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

  /** Returns the number of values per bucket; see {@link Histogram}. */
  public long[] histogram() {
    count();
    long[] histogram = new long[Histogram.BUCKETS];
    for (int cell = 0; cell < counted.size(); cell++) {
      histogram[Histogram.bucket(counted.high(cell))] += counted.count(cell);
    }
    return histogram;
  }

  /** Returns the quantile; without bounds if flows were sampled, since any value may be missing. */
  @Override
  public Value result(Group context) {
    Value quantile = quantile(context.share());
    boolean exact = quantile.low() == quantile.high();
    return context.unbounded(exact ? context.value(quantile.number()) : quantile);
  }

  @Override
  public void write(DataOutput out) throws IOException {
    counted.write(out);
    Wire.writeUnsigned(out, size);
    for (int i = 0; i < size; i++) {
      out.writeDouble(loose[i]);
    }
  }

  @Override
  public void read(DataInput in) throws IOException {
    counted = ValueCounts.read(in);
    for (long i = Wire.readUnsigned(in); i > 0; i--) {
      add(in.readDouble());
    }
  }
}
