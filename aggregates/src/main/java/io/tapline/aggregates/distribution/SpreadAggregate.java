package io.tapline.aggregates.distribution;

import io.tapline.aggregates.MergeableAggregate;

/** An aggregate whose rows show the distribution of the values, kept in {@link Spreads}. */
abstract class SpreadAggregate implements MergeableAggregate {
  @Override
  public boolean isNumber() {
    return false;
  }

  @Override
  public boolean estimatesTotals() {
    return true;
  }

  @Override
  public int weight() {
    return Spreads.WEIGHT;
  }

  @Override
  public String detailsName() {
    return Spreads.NAME;
  }
}
