package io.tapline.flink.group;

import io.tapline.schema.proto.Aggregate;

/**
 * Turns a table's sums into results, scaled up where flows were sampled.
 *
 * <p>Bounds of sampled counts, sums and means are 95 % ones by Student's distribution, from how far
 * replicate groups of flows differ (see {@link GroupTable#addSampled}): a flow of many tuples is
 * one draw, not many. Those of a ranking are wider, so that all its rows' hold together.
 *
 * <p>With few flows kept both an estimate and its spread come out too low together. So what can't
 * be negative is bounded from above by the largest value that would still be likely to give so
 * little, its variance in proportion to itself (Wilson's interval).
 */
public final class Estimate {
  private static final double NS_PER_S = 1e9;

  private final GroupTable table;

  /** Standard deviations between a value and its bounds. */
  private final double width;

  Estimate(GroupTable table, double width) {
    this.table = table;
    this.width = width;
  }

  /**
   * The group's value under {@code aggregate}; of a distribution its mean.
   *
   * @param share of a percentile
   * @param windowNs length of the window, for rates
   */
  public Value of(int entry, Aggregate aggregate, double share, long windowNs) {
    return switch (aggregate) {
      case RATE ->
          hasNone(entry)
              ? Value.NONE
              : perSecond(table.shape().hasSums() ? total(entry) : count(entry), windowNs);
      case PERCENTILE -> quantile(entry, share);
      case DISTINCT -> distinct(entry);
      case HISTOGRAM -> count(entry);
      default -> of(entry, aggregate);
    };
  }

  /** The same for aggregates that depend on nothing else. */
  public Value of(int entry, Aggregate aggregate) {
    if (aggregate != Aggregate.COUNT && hasNone(entry)) {
      return Value.NONE;
    }
    return switch (aggregate) {
      case SUM -> total(entry);
      case AVG, DISTRIBUTION -> mean(entry);
      case MIN -> extreme(table.min(entry), sampled(entry), true);
      case MAX -> extreme(table.max(entry), sampled(entry), false);
      default -> count(entry);
    };
  }

  /** The number of {@link #of} where it takes no more than a look; else NaN. */
  public double glance(int entry, Aggregate aggregate) {
    if (table.sampled()) {
      return Double.NaN;
    }
    return switch (aggregate) {
      case COUNT -> table.tuples(entry);
      case SUM -> hasNone(entry) ? Double.NaN : table.realSum(entry);
      case AVG -> table.realSum(entry) / table.tuples(entry);
      default -> Double.NaN;
    };
  }

  /** Whether no tuple of the group has a value. */
  private boolean hasNone(int entry) {
    return table.tuples(entry) == 0;
  }

  /** Tuples of the group without a value, scaled. */
  public Value absent(int entry) {
    return table.tally(entry, Tallies.ABSENT);
  }

  /**
   * Tuples of the group that were answered so, scaled.
   *
   * @param answer of {@link Answers}
   */
  public Value answered(int entry, byte answer) {
    return table.tally(entry, answer);
  }

  private boolean sampled(int entry) {
    return table.correction(entry, 0) != 0;
  }

  /** Tuples of the group, scaled. */
  public Value count(int entry) {
    double raw = table.tuples(entry);
    return sampled(entry)
        ? notNegative(raw + table.correction(entry, 0), variance(entry, 1, 0), raw)
        : Value.whole(table.tuples(entry));
  }

  private Value total(int entry) {
    if (sampled(entry)) {
      double value = table.realSum(entry) + table.correction(entry, 1);
      double variance = variance(entry, 0, 1);
      return value > 0 && noGroupBelowZero(entry)
          ? notNegative(value, variance, 0)
          : bounded(value, variance);
    }
    return table.real() ? Value.real(table.realSum(entry)) : Value.whole(table.sum(entry));
  }

  private static Value perSecond(Value total, long windowNs) {
    double seconds = windowNs / NS_PER_S;
    return new Value(
        total.number() / seconds, 0, false, total.low() / seconds, total.high() / seconds);
  }

  /** A ratio of two estimates; its variance by the delta method. */
  private Value mean(int entry) {
    double count = table.tuples(entry) + table.correction(entry, 0);
    double mean = (table.realSum(entry) + table.correction(entry, 1)) / count;
    double variance = sampled(entry) ? variance(entry, -mean, 1) / (count * count) : 0;
    return bounded(mean, variance);
  }

  /** Variance of {@code a} counts + {@code b} sums, from the spread between replicate groups. */
  private double variance(int entry, double a, double b) {
    double sum = 0;
    double squares = 0;
    for (int group = 0; group < GroupTable.REPLICATES; group++) {
      double part = a == 0 ? 0 : a * table.replicate(entry, false, group);
      part += b == 0 ? 0 : b * table.replicate(entry, true, group);
      sum += part;
      squares += part * part;
    }
    double groups = GroupTable.REPLICATES;
    return Math.max(0, squares - sum * sum / groups) * groups / (groups - 1);
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

  /** Of sampled flows those that were kept are a lower bound, and no upper one is known. */
  private Value distinct(int entry) {
    Value seen = table.distinctValues(entry).value();
    return sampled(entry)
        ? new Value(seen.number(), seen.exact(), seen.whole(), seen.low(), Double.NaN)
        : seen;
  }

  private Value quantile(int entry, double share) {
    Value found = table.values(entry).quantile(share);
    boolean whole = !table.real() && found.low() == found.high();
    Value kept = whole ? Value.whole((long) found.number()) : found;
    return sampled(entry)
        ? new Value(kept.number(), kept.exact(), kept.whole(), Double.NaN, Double.NaN)
        : kept;
  }

  /** Of sums: then values are hardly ever negative, or make no difference. */
  private boolean noGroupBelowZero(int entry) {
    for (int group = 0; group < GroupTable.REPLICATES; group++) {
      if (table.replicate(entry, true, group) < 0) {
        return false;
      }
    }
    return true;
  }

  private Value bounded(double value, double variance) {
    double margin = width * Math.sqrt(variance);
    return new Value(value, 0, false, value - margin, value + margin);
  }

  private Value notNegative(double value, double variance, double least) {
    double low = Math.max(least, value - width * Math.sqrt(variance));
    double skew = width * width * variance / value / 2;
    double high = value + skew + Math.sqrt(width * width * variance + skew * skew);
    return new Value(value, 0, false, low, high);
  }
}
