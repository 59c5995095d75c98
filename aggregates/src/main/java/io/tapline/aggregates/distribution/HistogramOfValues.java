package io.tapline.aggregates.distribution;

import io.tapline.aggregates.Accumulators;
import io.tapline.aggregates.Group;
import io.tapline.aggregates.MergeableAggregate;
import io.tapline.aggregates.Value;

/** How the values are spread: its value is their number. */
public final class HistogramOfValues implements MergeableAggregate {
  @Override
  public String name() {
    return "histogram";
  }

  @Override
  public String description() {
    return "how the values of a field are spread";
  }

  @Override
  public boolean isNumber() {
    return false;
  }

  @Override
  public boolean countsNone() {
    return true;
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

  @Override
  public Accumulators accumulators() {
    return new Numbers();
  }

  private static final class Numbers extends Spreads {
    @Override
    public Value result(int group, Group about) {
      return about.count();
    }
  }
}
