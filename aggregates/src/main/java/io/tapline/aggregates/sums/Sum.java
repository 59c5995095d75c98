package io.tapline.aggregates.sums;

import io.tapline.aggregates.Accumulators;

/** The sum of the values; for booleans, the number that are true. */
public final class Sum extends SumAggregate {
  @Override
  public String name() {
    return "sum";
  }

  @Override
  public String description() {
    return "the sum of a field";
  }

  @Override
  public Accumulators accumulators() {
    return new Sums();
  }
}
