package io.tapline.flink.group;

import io.tapline.aggregates.Details;
import io.tapline.aggregates.Group;
import io.tapline.aggregates.Value;

/**
 * Turns a table's accumulators into results, scaled up if flows were sampled.
 *
 * <p>Bounds of sampled counts, sums and means have 95 % confidence by Student's distribution, based
 * on the variance between replicate groups of flows (see {@link GroupTable#addSampled}), since a
 * flow with many tuples is a single draw. Bounds in a ranking are wider, so that the bounds of all
 * rows are simultaneously correct with this confidence. Aggregates see one group at a time through
 * {@link Group}.
 *
 * <p>If few flows are kept, an estimate and its variance tend to be too low together. So the upper
 * bound of nonnegative values is the largest value that is still likely to produce such a small
 * estimate, with a variance in proportion to that value (Wilson's interval).
 */
public final class Estimate implements Group {
  private final GroupTable table;

  /** Distance of the bounds from a value, in standard deviations. */
  private final double width;

  private final double share;
  private final long windowNs;
  private final boolean countsTuples;
  private int entry;

  /** True if bounds were computed for the current group. */
  private boolean bounded;

  Estimate(GroupTable table, double width, double share, long windowNs, boolean countsTuples) {
    this.table = table;
    this.width = width;
    this.share = share;
    this.windowNs = windowNs;
    this.countsTuples = countsTuples;
  }

  /** Returns a group's value. */
  public Value of(int group) {
    entry = group;
    if (tuples() == 0 && !table.aggregate().countsNone()) {
      return Value.NONE;
    }
    bounded = false;
    Value value = table.result(group, this);
    boolean claimsToBeExact = !bounded && value.low() == value.high();
    return claimsToBeExact ? unbounded(value) : value;
  }

  /** Returns the numbers that the group's row shows in addition to its value. */
  public Details details(int group) {
    entry = group;
    return table.details(group, this);
  }

  /** Returns the scaled number of the group's tuples without a value. */
  public Value absent(int group) {
    return table.tally(group, Tallies.ABSENT);
  }

  /**
   * Returns the scaled number of the group's tuples in this answer state.
   *
   * @param response one of {@link Answers}
   */
  public Value answered(int group, byte response) {
    return table.tally(group, response);
  }

  @Override
  public long tuples() {
    return table.tuples(entry);
  }

  @Override
  public boolean isSampled() {
    return table.correction(entry, 0) != 0;
  }

  @Override
  public boolean isReal() {
    return table.real();
  }

  @Override
  public boolean countsTuples() {
    return countsTuples;
  }

  @Override
  public double share() {
    return share;
  }

  @Override
  public long windowNs() {
    return windowNs;
  }

  @Override
  public Value count() {
    bounded = true;
    double raw = table.tuples(entry);
    return isSampled()
        ? notNegative(raw + table.correction(entry, 0), variance(1, 0), raw)
        : Value.whole(table.tuples(entry));
  }

  @Override
  public Value total(Value sum) {
    bounded = true;
    if (!isSampled()) {
      return sum;
    }
    double value = sum.number() + table.correction(entry, 1);
    double variance = variance(0, 1);
    return value > 0 && noGroupBelowZero()
        ? notNegative(value, variance, 0)
        : bounded(value, variance);
  }

  /**
   * Returns the mean. It is a ratio of two estimates, so its variance follows from the delta
   * method.
   */
  @Override
  public Value mean(Value sum) {
    bounded = true;
    double count = table.tuples(entry) + table.correction(entry, 0);
    double mean = (sum.number() + table.correction(entry, 1)) / count;
    double variance = isSampled() ? variance(-mean, 1) / (count * count) : 0;
    return bounded(mean, variance);
  }

  /**
   * Returns the variance of {@code a} · count + {@code b} · sum, from the spread between replicate
   * groups.
   */
  private double variance(double a, double b) {
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

  /**
   * Returns true if no replicate group has a negative sum, so that negative values are rare or
   * insignificant.
   */
  private boolean noGroupBelowZero() {
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

  private Value notNegative(double value, double variance, double min) {
    double low = Math.max(min, value - width * Math.sqrt(variance));
    double skew = width * width * variance / value / 2;
    double high = value + skew + Math.sqrt(width * width * variance + skew * skew);
    return new Value(value, 0, false, low, high);
  }
}
