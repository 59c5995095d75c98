package io.tapline.aggregates.distribution;

import io.tapline.aggregates.Accumulators;
import io.tapline.aggregates.Details;
import io.tapline.aggregates.Group;
import io.tapline.aggregates.PerGroup;
import io.tapline.aggregates.Value;
import io.tapline.aggregates.extremes.Extremes;
import io.tapline.aggregates.sums.Sums;
import java.io.DataInput;
import java.io.DataOutput;
import java.io.IOException;
import java.util.LinkedHashMap;
import java.util.Map;

/** Accumulators for all statistics of each group's distribution. Not thread-safe. */
abstract class Spreads extends Accumulators {
  /** Memory of a group's values, as a multiple of a count's. */
  static final int WEIGHT = 16;

  static final String NAME = "distribution";

  private static final Map<String, Double> QUANTILES = quantiles();

  private final Sums sums = new Sums();
  private final Extremes smallest = Extremes.smallest();
  private final Extremes largest = Extremes.largest();
  private final PerGroup<Values> values = PerGroup.ofNumbers(Values::new);
  private final Accumulators[] parts = {sums, smallest, largest, values};

  private static Map<String, Double> quantiles() {
    Map<String, Double> shares = new LinkedHashMap<>();
    shares.put("p50", 0.5);
    shares.put("p90", 0.9);
    shares.put("p95", 0.95);
    shares.put("p99", 0.99);
    return shares;
  }

  @Override
  public final void growTo(int capacity) {
    for (Accumulators part : parts) {
      part.growTo(capacity);
    }
  }

  @Override
  public final void holdReals() {
    super.holdReals();
    for (Accumulators part : parts) {
      part.holdReals();
    }
  }

  @Override
  public final void add(int[] groups, long[] added, int begin, int end) {
    for (Accumulators part : parts) {
      part.add(groups, added, begin, end);
    }
  }

  @Override
  public final void merge(int group, Accumulators other, int otherGroup) {
    for (int i = 0; i < parts.length; i++) {
      parts[i].merge(group, ((Spreads) other).parts[i], otherGroup);
    }
  }

  final Value mean(int group, Group context) {
    return context.mean(sums.sum(group));
  }

  /** Quantiles and the histogram describe only the tuples that were kept. */
  @Override
  public final Details details(int group, Group context) {
    boolean isEmpty = context.tuples() == 0;
    Map<String, Value> numbers = new LinkedHashMap<>();
    numbers.put("count", context.count());
    numbers.put("mean", isEmpty ? Value.NONE : mean(group, context));
    numbers.put("min", isEmpty ? Value.NONE : smallest.result(group, context));
    numbers.put("max", isEmpty ? Value.NONE : largest.result(group, context));
    Values own = values.of(group);
    QUANTILES.forEach((name, share) -> numbers.put(name, Value.real(own.quantile(share).number())));
    return new Details(numbers, own.histogram());
  }

  @Override
  public final void write(DataOutput out, int group) throws IOException {
    for (Accumulators part : parts) {
      part.write(out, group);
    }
  }

  @Override
  public final void read(DataInput in, int group) throws IOException {
    for (Accumulators part : parts) {
      part.read(in, group);
    }
  }
}
