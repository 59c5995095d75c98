package io.tapline.aggregates.distribution;

import io.tapline.aggregates.Accumulators;
import io.tapline.aggregates.Group;
import io.tapline.aggregates.Value;

/** The distribution of the values. The aggregate's value is their mean. */
public final class Distribution extends SpreadAggregate {
  @Override
  public String name() {
    return "distribution";
  }

  @Override
  public String description() {
    return "the distribution of a field: mean, extremes, quantiles and histogram";
  }

  @Override
  public boolean isProcessor() {
    return false;
  }

  @Override
  public Accumulators accumulators() {
    return new Means();
  }

  private static final class Means extends Spreads {
    @Override
    public Value result(int group, Group context) {
      return mean(group, context);
    }
  }
}
