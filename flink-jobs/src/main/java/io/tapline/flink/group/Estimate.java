package io.tapline.flink.group;

import io.tapline.schema.proto.Aggregate;

/**
 * Turns a table's sums into results, scaled up if flows were sampled.
 *
 * <p>Bounds of sampled counts, sums and means have 95 % confidence by Student's distribution, based
 * on the variance between replicate groups of flows (see {@link GroupTable#addSampled}): a flow of
 * many tuples is one draw, not many. Bounds of a ranking are wider, so that those of all rows hold
 * together.
 *
 * <p>If few flows are kept, an estimate and its variance tend to be too low together. So the upper
 * bound of nonnegative values is the largest value that would still be likely to produce so small
 * an estimate, with a variance in proportion to that value (Wilson's interval).
 */
public final class Estimate {
  private static final double NS_PER_S = 1e9;

  private final GroupTable table;

  /** Distance of a value's bounds in standard deviations. */
  private final double width;

  Estimate(GroupTable table, double width) {
    this.table = table;
    this.width = width;
  }

  /**
   * Returns the group's value under {@code aggregate}; for a distribution, its mean.
   *
   * @param share share of a percentile
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

  /** Does the same for aggregates without parameters. */
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

  /** Returns the number of {@link #of} if it is cheap to compute; else NaN. */
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

  /** Returns true if no tuple of the group has a value. */
  private boolean hasNone(int entry) {
    return table.tuples(entry) == 0;
  }

  /** Returns the scaled number of the group's tuples without a value. */
  public Value absent(int entry) {
    return table.tally(entry, Tallies.ABSENT);
  }

  /**
   * Returns the scaled number of the group's tuples with this answer.
   *
   * @param answer one of {@link Answers}
   */
  public Value answered(int entry, byte answer) {
    return table.tally(entry, answer);
  }

  private boolean sampled(int entry) {
    return table.correction(entry, 0) != 0;
  }

  /** Returns the scaled number of the group's tuples. */
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

  /** Returns a ratio of two estimates; its variance follows from the delta method. */
  private Value mean(int entry) {
    double count = table.tuples(entry) + table.correction(entry, 0);
    double mean = (table.realSum(entry) + table.correction(entry, 1)) / count;
    double variance = sampled(entry) ? variance(entry, -mean, 1) / (count * count) : 0;
    return bounded(mean, variance);
  }

  /**
   * Returns the variance of {@code a} counts + {@code b} sums, from the spread between replicate
   * groups.
   */
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

  /** Only one bound of a sampled extreme is known, since unseen values may lie beyond it. */
  private Value extreme(long bits, boolean sampled, boolean least) {
    Value value = table.real() ? Value.real(Double.longBitsToDouble(bits)) : Value.whole(bits);
    if (!sampled) {
      return value;
    }
    return least
        ? new Value(value.number(), value.exact(), value.whole(), Double.NaN, value.number())
        : new Value(value.number(), value.exact(), value.whole(), value.number(), Double.NaN);
  }

  /** Distinct values of the sampled flows are a lower bound; no upper one is known. */
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

  /** Checks sums, since negative values are then rare or insignificant. */
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
