package io.tapline.flink.group;

import io.tapline.schema.proto.Aggregate;

/**
 * Turns a table's sums into results, scaled up where tuples were sampled.
 *
 * <p>Bounds are 95 % ones of the normal approximation, with tuples taken as independent. Where one
 * flow brings many tuples the true spread is wider; replicate groups of flows will measure it.
 */
public final class Estimate {
  private static final double QUANTILE_975 = 1.959963984540054;

  private final GroupTable table;

  Estimate(GroupTable table) {
    this.table = table;
  }

  /** The group's value under {@code aggregate}; of a distribution, its mean. */
  public Value of(int entry, Aggregate aggregate) {
    boolean sampled = table.correction(entry, 0) != 0;
    return switch (aggregate) {
      case SUM -> sampled ? sampledSum(entry) : sum(entry);
      case AVG, DISTRIBUTION -> mean(entry);
      case MIN -> extreme(table.min(entry), sampled, true);
      case MAX -> extreme(table.max(entry), sampled, false);
      default -> sampled ? sampledCount(entry) : Value.whole(table.tuples(entry));
    };
  }

  /** Tuples of the group, scaled. */
  public Value count(int entry) {
    return of(entry, Aggregate.COUNT);
  }

  private Value sum(int entry) {
    return table.real() ? Value.real(table.realSum(entry)) : Value.whole(table.sum(entry));
  }

  private Value sampledCount(int entry) {
    double raw = table.tuples(entry);
    return bounded(raw + table.correction(entry, 0), table.correction(entry, 2), raw);
  }

  private Value sampledSum(int entry) {
    double value = table.realSum(entry) + table.correction(entry, 1);
    return bounded(value, table.correction(entry, 4), Double.NEGATIVE_INFINITY);
  }

  /** A ratio of two estimates; its variance by the delta method. */
  private Value mean(int entry) {
    double count = table.tuples(entry) + table.correction(entry, 0);
    double mean = (table.realSum(entry) + table.correction(entry, 1)) / count;
    double spread =
        table.correction(entry, 4)
            - 2 * mean * table.correction(entry, 3)
            + mean * mean * table.correction(entry, 2);
    return bounded(mean, Math.max(0, spread) / (count * count), Double.NEGATIVE_INFINITY);
  }

  /** Of a sampled extreme only one bound is known: what was not seen may lie beyond it. */
  private Value extreme(long bits, boolean sampled, boolean least) {
    Value value = table.real() ? Value.real(Double.longBitsToDouble(bits)) : Value.whole(bits);
    if (!sampled) {
      return value;
    }
    return least
        ? new Value(value.number(), value.exact(), value.whole(), Double.NaN, value.number())
        : new Value(value.number(), value.exact(), value.whole(), value.number(), Double.NaN);
  }

  private static Value bounded(double value, double variance, double least) {
    double margin = QUANTILE_975 * Math.sqrt(variance);
    return new Value(value, 0, false, Math.max(least, value - margin), value + margin);
  }
}
