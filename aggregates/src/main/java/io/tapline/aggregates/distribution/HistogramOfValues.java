package io.tapline.aggregates.distribution;

import io.tapline.aggregates.Accumulators;
import io.tapline.aggregates.Group;
import io.tapline.aggregates.Value;

/** A histogram of the values. The aggregate's value is their number. */
public final class HistogramOfValues extends SpreadAggregate {
  @Override
  public String name() {
    return "histogram";
  }

  @Override
  public String description() {
    return "the distribution of a field's values";
  }

  @Override
  public boolean countsNone() {
    return true;
  }

  @Override
  public Accumulators accumulators() {
    return new Numbers();
  }

  private static final class Numbers extends Spreads {
    @Override
    public Value result(int group, Group context) {
      return context.count();
    }
  }
}
