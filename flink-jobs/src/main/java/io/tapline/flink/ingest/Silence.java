package io.tapline.flink.ingest;

import java.util.Arrays;

/**
 * Finds the monitors of a partition that send nothing, not even heartbeats. Silence is measured in
 * rounds instead of by a clock: a round ends once the broker has reported the partition's end and
 * everything up to it was read. Neither an unresponsive broker nor a lagging reader makes monitors
 * silent.
 *
 * <pre>
 *   round          over      over      no answer      over      over      over
 *   batch       x            x                                            x
 *   rounds      0   1     0  1      0                 1         2       0  1
 * </pre>
 *
 * <p>Not thread-safe.
 */
final class Silence {
  /**
   * Number of rounds without a batch after which a monitor is silent; the first round may end
   * immediately.
   */
  static final int ROUNDS = 5;

  private final int[] rounds;

  Silence(int monitors) {
    rounds = new int[monitors];
  }

  /** Records that a batch of the monitor arrived, whether it was accepted or not. */
  void markActive(int monitor) {
    rounds[monitor] = 0;
  }

  /** Ends a round in which the partition was read up to its reported end. */
  void endAnsweredRound() {
    for (int i = 0; i < rounds.length; i++) {
      rounds[i] = Math.min(ROUNDS, rounds[i] + 1);
    }
  }

  /** Starts counting over, since monitors may not have reached the unresponsive broker either. */
  void endUnansweredRound() {
    Arrays.fill(rounds, 0);
  }

  boolean isSilent(int monitor) {
    return rounds[monitor] == ROUNDS;
  }
}
