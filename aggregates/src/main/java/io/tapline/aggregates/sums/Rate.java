package io.tapline.aggregates.sums;

import io.tapline.aggregates.Accumulators;
import io.tapline.aggregates.Group;
import io.tapline.aggregates.Value;

/** Tuples, or the sum of the values, per second of the window. */
public final class Rate extends SumAggregate {
  private static final double NS_PER_S = 1e9;

  @Override
  public String name() {
    return "rate";
  }

  @Override
  public String description() {
    return "tuples, or the sum of a field, per second";
  }

  @Override
  public String unit(String ofValues) {
    return ofValues.isEmpty() || ofValues.equals("count") ? "per_second" : ofValues + "_per_second";
  }

  @Override
  public boolean needsWindow() {
    return true;
  }

  @Override
  public Accumulators accumulators() {
    return new Rates();
  }

  private static final class Rates extends Sums {
    @Override
    public Value result(int group, Group context) {
      Value total = context.countsTuples() ? context.count() : context.total(sum(group));
      double seconds = context.windowNs() / NS_PER_S;
      return Value.real(total.number() / seconds)
          .within(total.low() / seconds, total.high() / seconds);
    }

    @Override
    public double glance(int group, long tuples) {
      return Double.NaN;
    }
  }
}
