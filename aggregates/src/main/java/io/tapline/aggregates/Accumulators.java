package io.tapline.aggregates;

import java.io.DataInput;
import java.io.DataOutput;
import java.io.IOException;

/**
 * The state of one aggregate for all groups of a table, which numbers them from 0. {@link PerGroup}
 * keeps an object per group; arrays take less memory and time.
 *
 * <p>Each call is for many values or for one group's result, so its overhead per value is
 * negligible. A group's state is empty until values are added. Not thread-safe.
 */
public abstract class Accumulators {
  private boolean real;

  /** Makes room for {@code capacity} groups. REQUIRES: the capacity never decreases. */
  public abstract void growTo(int capacity);

  /**
   * Adds {@code values[i]} to group {@code groups[i]} for i from {@code begin} to {@code end - 1}.
   *
   * @param values whole numbers, bits of doubles if {@link #isReal}, or hashes
   */
  public abstract void add(int[] groups, long[] values, int begin, int end);

  /** Merges group {@code otherGroup} of another object of this class into a group. */
  public abstract void merge(int group, Accumulators other, int otherGroup);

  /** Returns a group's value, with its bounds: see {@link Group}. */
  public abstract Value result(int group, Group context);

  /** Returns the numbers that a row shows in addition to its value. */
  public Details details(int group, Group context) {
    return Details.NONE;
  }

  /** Writes a group for {@link #read}. */
  public abstract void write(DataOutput out, int group) throws IOException;

  /** Reads a group's state that {@link #write} wrote, and merges it into a group. */
  public abstract void read(DataInput in, int group) throws IOException;

  /** Returns true if {@link #subtract} undoes {@link #merge}, which lets windows slide cheaply. */
  public boolean isSubtractable() {
    return false;
  }

  /**
   * Undoes a {@link #merge}. REQUIRES: {@link #isSubtractable} is true, and values are not doubles.
   */
  public void subtract(int group, Accumulators subtracted, int otherGroup) {
    throw new UnsupportedOperationException(getClass() + " can't subtract");
  }

  /**
   * Returns true if the state of any of the first {@code groups} groups may have saturated, which
   * makes subtraction wrong.
   */
  public boolean mayHaveSaturated(int groups) {
    return false;
  }

  /**
   * Returns {@code result(…).number()} for a group that was not sampled, if it is cheap to compute;
   * otherwise NaN. A ranking rejects most groups by this number.
   *
   * @param tuples number of the group's tuples with a value
   */
  public double glance(int group, long tuples) {
    return Double.NaN;
  }

  /** Declares that values are bits of doubles. REQUIRES: no value was added. */
  public void holdReals() {
    real = true;
  }

  public final boolean isReal() {
    return real;
  }
}
