package io.tapline.aggregates.sums;

import io.tapline.aggregates.Accumulators;
import io.tapline.aggregates.Group;
import io.tapline.aggregates.Value;
import io.tapline.aggregates.Wire;
import java.io.DataInput;
import java.io.DataOutput;
import java.io.IOException;
import java.util.Arrays;

/**
 * Sums, which are exact for whole numbers and saturate at the limits of {@code long}. Not
 * thread-safe.
 */
public class Sums extends Accumulators {
  private long[] sums = {};

  /** Null unless values are doubles. */
  private double[] realSums;

  @Override
  public void growTo(int capacity) {
    sums = Arrays.copyOf(sums, capacity);
    realSums = realSums == null ? null : Arrays.copyOf(realSums, capacity);
  }

  @Override
  public void holdReals() {
    super.holdReals();
    if (realSums == null) {
      realSums = new double[sums.length];
    }
  }

  @Override
  public void add(int[] groups, long[] values, int begin, int end) {
    if (isReal()) {
      for (int i = begin; i < end; i++) {
        realSums[groups[i]] += Double.longBitsToDouble(values[i]);
      }
    } else {
      for (int i = begin; i < end; i++) {
        sums[groups[i]] = saturated(sums[groups[i]], values[i]);
      }
    }
  }

  private static long saturated(long a, long b) {
    long sum = a + b;
    return ((a ^ sum) & (b ^ sum)) < 0 ? (a < 0 ? Long.MIN_VALUE : Long.MAX_VALUE) : sum;
  }

  @Override
  public void merge(int group, Accumulators other, int otherGroup) {
    Sums otherSums = (Sums) other;
    sums[group] = saturated(sums[group], otherSums.sums[otherGroup]);
    if (realSums != null && otherSums.realSums != null) {
      realSums[group] += otherSums.realSums[otherGroup];
    }
  }

  @Override
  public boolean isSubtractable() {
    return true;
  }

  @Override
  public void subtract(int group, Accumulators subtracted, int otherGroup) {
    sums[group] -= ((Sums) subtracted).sums[otherGroup];
  }

  @Override
  public boolean mayHaveSaturated(int groups) {
    for (int group = 0; group < groups; group++) {
      if (sums[group] == Long.MAX_VALUE || sums[group] == Long.MIN_VALUE) {
        return true;
      }
    }
    return false;
  }

  /** Returns a group's unscaled sum. */
  public final Value sum(int group) {
    return isReal() ? Value.real(realSums[group]) : Value.whole(sums[group]);
  }

  /** Returns a group's unscaled sum as a double. */
  final double number(int group) {
    return isReal() ? realSums[group] : sums[group];
  }

  @Override
  public Value result(int group, Group context) {
    return context.total(sum(group));
  }

  @Override
  public double glance(int group, long tuples) {
    return tuples == 0 ? Double.NaN : number(group);
  }

  @Override
  public void write(DataOutput out, int group) throws IOException {
    if (isReal()) {
      out.writeDouble(realSums[group]);
    } else {
      Wire.writeSigned(out, sums[group]);
    }
  }

  @Override
  public void read(DataInput in, int group) throws IOException {
    if (isReal()) {
      realSums[group] += in.readDouble();
    } else {
      sums[group] = saturated(sums[group], Wire.readSigned(in));
    }
  }
}
