package io.tapline.aggregates;

/**
 * A group's tuples and how they were sampled: all that a result may depend on besides the values.
 *
 * <p>If flows were sampled, tuples represent others that were not kept. {@link #count}, {@link
 * #total} and {@link #mean} account for those and have 95 % confidence bounds; other results must
 * call {@link #atLeast}, {@link #atMost} or {@link #unbounded}, which return their argument unless
 * flows were sampled, to declare which bounds are known. A value that claims to be exact is shown
 * without bounds.
 */
public interface Group {
  /** Returns the unscaled number of tuples with a value, above 0 unless the aggregate counts. */
  long tuples();

  /** Returns true if some of the group's tuples represent others. */
  boolean isSampled();

  /** Returns true if values are doubles, false if they are whole numbers. */
  boolean isReal();

  /** Returns true if the aggregate counts tuples instead of reading a value. */
  boolean countsTuples();

  /** Returns the quantile argument {@code p}, above 0 and at most 1, if the aggregate takes one. */
  double share();

  /**
   * Returns the length of the window. REQUIRES: {@link MergeableAggregate#needsWindow}; otherwise,
   * the length may be unknown.
   */
  long windowNs();

  /** Returns the scaled number of tuples with a value. */
  Value count();

  /** Returns the scaled sum. REQUIRES: {@link MergeableAggregate#estimatesTotals}. */
  Value total(Value sum);

  /** Returns the mean. REQUIRES: {@link MergeableAggregate#estimatesTotals}. */
  Value mean(Value sum);

  /** Converts one of the values to a {@link Value}, which is whole if the values are. */
  default Value value(double number) {
    boolean isWhole = !isReal() && number == Math.rint(number) && Math.abs(number) < 0x1p63;
    return isWhole ? Value.whole((long) number) : Value.real(number);
  }

  /** Returns a value that discarded tuples could only have increased. */
  default Value atLeast(Value keptValue) {
    return isSampled() ? keptValue.within(keptValue.low(), Double.NaN) : keptValue;
  }

  /** Returns a value that discarded tuples could only have decreased. */
  default Value atMost(Value keptValue) {
    return isSampled() ? keptValue.within(Double.NaN, keptValue.high()) : keptValue;
  }

  /** Returns a value without bounds, unless every tuple was kept. */
  default Value unbounded(Value keptValue) {
    return isSampled() ? keptValue.within(Double.NaN, Double.NaN) : keptValue;
  }
}
