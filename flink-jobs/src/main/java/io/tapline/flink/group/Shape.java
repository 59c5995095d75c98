package io.tapline.flink.group;

import io.tapline.schema.proto.Aggregate;

/** The state that is kept for each group, depending on the aggregate. */
public enum Shape {
  COUNT,
  /** Counts and sums: AVG is their quotient. */
  SUM,
  EXTREMES,
  DISTRIBUTION,
  /** Hashes of the values that occurred. */
  DISTINCT;

  /**
   * @param counts whether tuples have no value and count as one each
   */
  public static Shape of(Aggregate aggregate, boolean counts) {
    return switch (aggregate) {
      case SUM, AVG -> SUM;
      case RATE -> counts ? COUNT : SUM;
      case MIN, MAX -> EXTREMES;
      case DISTRIBUTION, PERCENTILE, HISTOGRAM -> DISTRIBUTION;
      case DISTINCT -> DISTINCT;
      default -> COUNT;
    };
  }

  boolean hasSums() {
    return this == SUM || this == DISTRIBUTION;
  }

  boolean hasExtremes() {
    return this == EXTREMES || this == DISTRIBUTION;
  }

  /** Returns true if a pane that leaves a window can be subtracted from its sums. */
  public boolean subtractable() {
    return this == COUNT || this == SUM;
  }
}
