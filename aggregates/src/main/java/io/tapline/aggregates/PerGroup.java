package io.tapline.aggregates;

import java.io.DataInput;
import java.io.DataOutput;
import java.io.IOException;
import java.util.Arrays;
import java.util.function.Supplier;

/**
 * Accumulators with one object per group, created when it is first needed.
 *
 * @param <A> class of the objects
 */
public final class PerGroup<A extends Accumulator<A>> extends Accumulators {
  private final Supplier<A> empty;
  private final boolean hashes;
  private Object[] groups = {};

  private PerGroup(Supplier<A> empty, boolean hashes) {
    this.empty = empty;
    this.hashes = hashes;
  }

  /** Returns accumulators of numbers, whole or real. */
  public static <A extends Accumulator<A>> PerGroup<A> ofNumbers(Supplier<A> empty) {
    return new PerGroup<>(empty, false);
  }

  /** Returns accumulators of hashes. */
  public static <A extends Accumulator<A>> PerGroup<A> ofHashes(Supplier<A> empty) {
    return new PerGroup<>(empty, true);
  }

  @Override
  public void growTo(int capacity) {
    groups = Arrays.copyOf(groups, capacity);
  }

  /** Returns a group's object, and creates it if there is none. */
  @SuppressWarnings("unchecked")
  public A of(int group) {
    if (groups[group] == null) {
      groups[group] = empty.get();
    }
    return (A) groups[group];
  }

  @Override
  public void add(int[] groups, long[] values, int begin, int end) {
    if (hashes) {
      for (int i = begin; i < end; i++) {
        of(groups[i]).addHash(values[i]);
      }
    } else if (isReal()) {
      for (int i = begin; i < end; i++) {
        of(groups[i]).add(Double.longBitsToDouble(values[i]));
      }
    } else {
      for (int i = begin; i < end; i++) {
        of(groups[i]).add(values[i]);
      }
    }
  }

  @Override
  @SuppressWarnings("unchecked")
  public void merge(int group, Accumulators other, int otherGroup) {
    PerGroup<A> others = (PerGroup<A>) other;
    if (others.groups[otherGroup] != null) {
      of(group).merge(others.of(otherGroup));
    }
  }

  @Override
  public Value result(int group, Group context) {
    return of(group).result(context);
  }

  @Override
  public Details details(int group, Group context) {
    return of(group).details(context);
  }

  @Override
  public void write(DataOutput out, int group) throws IOException {
    of(group).write(out);
  }

  @Override
  public void read(DataInput in, int group) throws IOException {
    A read = empty.get();
    read.read(in);
    if (groups[group] == null) {
      groups[group] = read;
    } else {
      of(group).merge(read);
    }
  }
}
