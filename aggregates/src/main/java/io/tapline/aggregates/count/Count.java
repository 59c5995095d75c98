package io.tapline.aggregates.count;

import io.tapline.aggregates.Accumulators;
import io.tapline.aggregates.Group;
import io.tapline.aggregates.MergeableAggregate;
import io.tapline.aggregates.Value;
import java.io.DataInput;
import java.io.DataOutput;

/** The number of tuples, or of tuples with a value. */
public final class Count implements MergeableAggregate {
  @Override
  public String name() {
    return "count";
  }

  @Override
  public String description() {
    return "the number of tuples";
  }

  @Override
  public Input input() {
    return Input.TUPLES;
  }

  @Override
  public Accumulators accumulators() {
    return new Counts();
  }

  /** Has no state, since tables count their tuples for all aggregates. */
  private static final class Counts extends Accumulators {
    @Override
    public void growTo(int capacity) {}

    @Override
    public void add(int[] groups, long[] values, int begin, int end) {}

    @Override
    public void merge(int group, Accumulators other, int otherGroup) {}

    @Override
    public boolean isSubtractable() {
      return true;
    }

    @Override
    public void subtract(int group, Accumulators subtracted, int otherGroup) {}

    @Override
    public double glance(int group, long tuples) {
      return tuples;
    }

    @Override
    public Value result(int group, Group context) {
      return context.count();
    }

    @Override
    public void write(DataOutput out, int group) {}

    @Override
    public void read(DataInput in, int group) {}
  }
}
