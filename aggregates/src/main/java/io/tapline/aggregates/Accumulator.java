package io.tapline.aggregates;

import java.io.DataInput;
import java.io.DataOutput;
import java.io.IOException;

/**
 * An aggregate's state for one group; see {@link PerGroup}. Not thread-safe.
 *
 * @param <A> the implementing class
 */
public interface Accumulator<A extends Accumulator<A>> {
  /** Adds a value. */
  default void add(double value) {
    throw new UnsupportedOperationException(getClass() + " takes hashes");
  }

  /** Adds a value's hash, if the aggregate takes {@link MergeableAggregate.Input#HASHES}. */
  default void addHash(long hash) {
    throw new UnsupportedOperationException(getClass() + " takes numbers");
  }

  void merge(A other);

  /** Returns the value, with its bounds: see {@link Group}. */
  Value result(Group context);

  /** Returns the numbers that a row shows in addition to its value. */
  default Details details(Group context) {
    return Details.NONE;
  }

  /** Writes the state for {@link #read}. */
  void write(DataOutput out) throws IOException;

  /** Reads a state that {@link #write} wrote. REQUIRES: no value was added. */
  void read(DataInput in) throws IOException;
}
