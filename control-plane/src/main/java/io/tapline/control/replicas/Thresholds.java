package io.tapline.control.replicas;

/**
 * The thresholds at which servers are added and removed.
 *
 * <p>The upper one is at least twice the lower one, so the number of servers does not oscillate
 * while the request rate is constant: if n servers are too many for a page, its rate is below n
 * times the lower threshold, hence below 2 (n - 1) times it, and n - 1 servers are not too few.
 *
 * @param upperPerSecond maximum requests for one page that one server should answer
 * @param lowerPerSecond minimum requests for the most popular page on each server; with fewer, a
 *     server is removed
 * @param backOffNs time after a change during which nothing is added or removed, in packet time
 */
public record Thresholds(double upperPerSecond, double lowerPerSecond, long backOffNs) {
  private static final long MAX_BACKOFF_NS = 3_600_000_000_000L;

  /** Validates the thresholds. */
  public Thresholds {
    if (!(lowerPerSecond > 0) || !(upperPerSecond < Double.POSITIVE_INFINITY)) {
      throw new IllegalArgumentException(
          "upper_per_second, lower_per_second: both must be above 0");
    } else if (upperPerSecond < 2 * lowerPerSecond) {
      throw new IllegalArgumentException(
          "upper_per_second: must be at least twice lower_per_second, or the number of servers would oscillate");
    } else if (backOffNs < 0 || backOffNs > MAX_BACKOFF_NS) {
      throw new IllegalArgumentException("back_off: 0s to 1h");
    }
  }
}
