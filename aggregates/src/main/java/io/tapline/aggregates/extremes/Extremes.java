package io.tapline.aggregates.extremes;

import io.tapline.aggregates.Accumulators;
import io.tapline.aggregates.Group;
import io.tapline.aggregates.Value;
import io.tapline.aggregates.Wire;
import java.io.DataInput;
import java.io.DataOutput;
import java.io.IOException;
import java.util.Arrays;

/** The smallest or the largest value of each group. Not thread-safe. */
public final class Extremes extends Accumulators {
  private final boolean largest;

  /**
   * Each group's smallest value, as a {@code long} that sorts like the value; for largest values,
   * the smallest complement.
   */
  private long[] min = {};

  private Extremes(boolean largest) {
    this.largest = largest;
  }

  public static Extremes smallest() {
    return new Extremes(false);
  }

  public static Extremes largest() {
    return new Extremes(true);
  }

  @Override
  public void growTo(int capacity) {
    int previousLength = min.length;
    min = Arrays.copyOf(min, capacity);
    Arrays.fill(min, previousLength, capacity, Long.MAX_VALUE);
  }

  @Override
  public void add(int[] groups, long[] values, int begin, int end) {
    long flip = largest ? -1 : 0;
    boolean isReal = isReal();
    for (int i = begin; i < end; i++) {
      long ordered = (isReal ? sortable(values[i]) : values[i]) ^ flip;
      min[groups[i]] = Math.min(min[groups[i]], ordered);
    }
  }

  /** Maps the bits of a double to a number that sorts like the double; its own inverse. */
  private static long sortable(long bits) {
    return bits ^ bits >> 63 & Long.MAX_VALUE;
  }

  @Override
  public void merge(int group, Accumulators other, int otherGroup) {
    min[group] = Math.min(min[group], ((Extremes) other).min[otherGroup]);
  }

  /** Returns the extreme of a group's kept tuples. REQUIRES: the group has a value. */
  public Value extreme(int group) {
    long ordered = largest ? ~min[group] : min[group];
    return isReal() ? Value.real(Double.longBitsToDouble(sortable(ordered))) : Value.whole(ordered);
  }

  /**
   * Returns a group's extreme. If flows were sampled, only one bound is known, since unseen values
   * may lie beyond the extreme.
   */
  @Override
  public Value result(int group, Group context) {
    return largest ? context.atLeast(extreme(group)) : context.atMost(extreme(group));
  }

  @Override
  public void write(DataOutput out, int group) throws IOException {
    Wire.writeSigned(out, min[group]);
  }

  @Override
  public void read(DataInput in, int group) throws IOException {
    min[group] = Math.min(min[group], Wire.readSigned(in));
  }
}
