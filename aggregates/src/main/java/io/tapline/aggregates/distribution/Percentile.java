package io.tapline.aggregates.distribution;

import io.tapline.aggregates.Accumulators;
import io.tapline.aggregates.MergeableAggregate;
import io.tapline.aggregates.PerGroup;

/** The smallest value that is not exceeded by at least a given share of all values. */
public final class Percentile implements MergeableAggregate {
  @Override
  public String name() {
    return "percentile";
  }

  @Override
  public String description() {
    return "a percentile of a field";
  }

  @Override
  public boolean takesShare() {
    return true;
  }

  @Override
  public int weight() {
    return Spreads.WEIGHT;
  }

  @Override
  public Accumulators accumulators() {
    return PerGroup.ofNumbers(Values::new);
  }
}
