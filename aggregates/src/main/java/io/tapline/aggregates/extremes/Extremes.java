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
   * The smallest value of each group in the order of {@code long}, or the smallest complement for
   * largest values.
   */
  private long[] least = {};

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
    int before = least.length;
    least = Arrays.copyOf(least, capacity);
    Arrays.fill(least, before, capacity, Long.MAX_VALUE);
  }

  @Override
  public void add(int[] groups, long[] values, int from, int to) {
    long flip = largest ? -1 : 0;
    boolean real = isReal();
    for (int i = from; i < to; i++) {
      long ordered = (real ? sortable(values[i]) : values[i]) ^ flip;
      least[groups[i]] = Math.min(least[groups[i]], ordered);
    }
  }

  /** Maps the bits of a double to a number that sorts like the double; its own inverse. */
  private static long sortable(long bits) {
    return bits ^ bits >> 63 & Long.MAX_VALUE;
  }

  @Override
  public void merge(int group, Accumulators other, int from) {
    least[group] = Math.min(least[group], ((Extremes) other).least[from]);
  }

  /** Returns a group's extreme of the tuples that were kept. REQUIRES: it has a value. */
  public Value extreme(int group) {
    long ordered = largest ? ~least[group] : least[group];
    return isReal() ? Value.real(Double.longBitsToDouble(sortable(ordered))) : Value.whole(ordered);
  }

  /** Only one bound of a sampled extreme is known, since unseen values may lie beyond it. */
  @Override
  public Value result(int group, Group about) {
    return largest ? about.atLeast(extreme(group)) : about.atMost(extreme(group));
  }

  @Override
  public void write(DataOutput out, int group) throws IOException {
    Wire.writeSigned(out, least[group]);
  }

  @Override
  public void read(DataInput in, int group) throws IOException {
    least[group] = Math.min(least[group], Wire.readSigned(in));
  }
}
