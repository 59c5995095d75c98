package io.tapline.aggregates.sums;

import io.tapline.aggregates.MergeableAggregate;

/** An aggregate that is computed from the sum of the values, kept in {@link Sums}. */
abstract class SumAggregate implements MergeableAggregate {
  @Override
  public boolean takesFlags() {
    return true;
  }

  @Override
  public boolean estimatesTotals() {
    return true;
  }
}
