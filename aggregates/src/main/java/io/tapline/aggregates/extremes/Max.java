package io.tapline.aggregates.extremes;

import io.tapline.aggregates.Accumulators;
import io.tapline.aggregates.MergeableAggregate;

/** The largest of the values. */
public final class Max implements MergeableAggregate {
  @Override
  public String name() {
    return "max";
  }

  @Override
  public String description() {
    return "the largest value of a field";
  }

  @Override
  public Accumulators accumulators() {
    return Extremes.largest();
  }
}
