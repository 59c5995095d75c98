package io.tapline.control.diagnose;

import java.util.List;
import java.util.TreeSet;

/**
 * Detects events at regular intervals, from the mean and standard deviation of the intervals
 * between episodes (Confluo, Figure 2).
 *
 * @param episodes number of episodes; events at most 10 ms apart belong to the same episode
 */
public record Periodicity(int episodes, double meanNs, double deviationNs) {
  private static final long BUCKET_NS = 10_000_000;
  private static final int MIN_EPISODES = 5;
  private static final double MAX_DEVIATION = 0.05;

  static Periodicity of(List<Long> timesNs) {
    TreeSet<Long> starts = new TreeSet<>();
    long last = Long.MIN_VALUE / 2;
    for (long time : new TreeSet<>(timesNs)) {
      if (time - last > BUCKET_NS) {
        starts.add(time);
      }
      last = time;
    }
    double sum = 0;
    double squares = 0;
    Long previousNs = null;
    for (long start : starts) {
      if (previousNs != null) {
        double gap = start - previousNs;
        sum += gap;
        squares += gap * gap;
      }
      previousNs = start;
    }
    int gaps = Math.max(1, starts.size() - 1);
    double mean = sum / gaps;
    return new Periodicity(
        starts.size(), mean, Math.sqrt(Math.max(0, squares / gaps - mean * mean)));
  }

  /** Returns true if the intervals are too regular and too numerous to be due to chance. */
  boolean isEven() {
    return episodes >= MIN_EPISODES && deviationNs <= MAX_DEVIATION * meanNs;
  }
}
