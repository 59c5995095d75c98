package io.tapline.bench.events;

/**
 * Measured latencies.
 *
 * @param ns the latencies in ns, ascending
 */
public record Latencies(long[] ns) {
  /** Returns a percentile in ms; NaN if there are no latencies. */
  public double percentileMs(double percent) {
    if (ns.length == 0) {
      return Double.NaN;
    }
    int index = (int) Math.ceil(percent / 100 * ns.length) - 1;
    return ns[Math.max(0, index)] / 1e6;
  }
}
