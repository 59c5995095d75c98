package io.tapline.flink.ingest;

import java.util.Arrays;

/**
 * Finds the monitors of a partition that send nothing, not even heartbeats. Counted in rounds
 * rather than by a clock: a round is over once the broker has answered how long the partition is
 * and all of that was read. A broker that does not answer, and a reader that lags, say nothing
 * about monitors.
 *
 * <pre>
 *   round          over      over      no answer      over      over      over
 *   of monitor  x            x                                            x          heard
 *   rounds      0   1     0  1      0                 1         2       0  1
 * </pre>
 *
 * <p>Not thread-safe.
 */
final class Silence {
  /** Rounds without a batch before a monitor is silent; the first round may be over at once. */
  static final int ROUNDS = 5;

  private final int[] rounds;

  Silence(int monitors) {
    rounds = new int[monitors];
  }

  /** A batch of the monitor arrived, whatever it was. */
  void heard(int monitor) {
    rounds[monitor] = 0;
  }

  /** A round is over. */
  void drained() {
    for (int i = 0; i < rounds.length; i++) {
      rounds[i] = Math.min(ROUNDS, rounds[i] + 1);
    }
  }

  /** The broker did not answer: monitors may not have reached it either. */
  void unanswered() {
    Arrays.fill(rounds, 0);
  }

  boolean isSilent(int monitor) {
    return rounds[monitor] == ROUNDS;
  }
}
