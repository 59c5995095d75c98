package io.tapline.aggregates.sums;

import io.tapline.aggregates.Accumulators;
import io.tapline.aggregates.Group;
import io.tapline.aggregates.Value;

/** The mean of the values; for booleans, the share that are true. */
public final class Avg extends SumAggregate {
  @Override
  public String name() {
    return "avg";
  }

  @Override
  public String description() {
    return "the mean of a field";
  }

  @Override
  public Accumulators accumulators() {
    return new Means();
  }

  private static final class Means extends Sums {
    @Override
    public Value result(int group, Group context) {
      return context.mean(sum(group));
    }

    @Override
    public double glance(int group, long tuples) {
      return number(group) / tuples;
    }
  }
}
