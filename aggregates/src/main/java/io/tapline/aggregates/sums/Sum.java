package io.tapline.aggregates.sums;

import io.tapline.aggregates.Accumulators;
import io.tapline.aggregates.MergeableAggregate;

/** The sum of the values; of true and false the number of those that are true. */
public final class Sum implements MergeableAggregate {
  @Override
  public String name() {
    return "sum";
  }

  @Override
  public String description() {
    return "the sum of a field";
  }

  @Override
  public boolean takesFlags() {
    return true;
  }

  @Override
  public boolean estimatesTotals() {
    return true;
  }

  @Override
  public Accumulators accumulators() {
    return new Sums();
  }
}
