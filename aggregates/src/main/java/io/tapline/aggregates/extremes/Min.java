package io.tapline.aggregates.extremes;

import io.tapline.aggregates.Accumulators;
import io.tapline.aggregates.MergeableAggregate;

/** The smallest of the values. */
public final class Min implements MergeableAggregate {
  @Override
  public String name() {
    return "min";
  }

  @Override
  public String description() {
    return "the smallest value of a field";
  }

  @Override
  public Accumulators accumulators() {
    return Extremes.smallest();
  }
}
