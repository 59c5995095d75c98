package io.tapline.flink;

import java.io.Serializable;
import java.time.Duration;

/**
 * Settings of a job. They do not affect results, except when a limit is reached, which is counted,
 * or when windows do not wait for a silent monitor, which they name.
 *
 * @param parallelism number of source subtasks and of pane subtasks; source subtasks beyond the
 *     plan's partitions are idle
 * @param checkpointInterval time between checkpoints; zero for none: the query then starts over
 *     after a failure
 * @param checkpointDirectory folder for checkpoints ({@code file:///…}); empty for the job
 *     manager's memory
 * @param restartAttempts consecutive restarts, less than five minutes apart, before the job gives
 *     up
 * @param maxGroups maximum number of groups per processor, summed over the panes of a window and
 *     weighted by the aggregate's memory; tuples of further groups are counted as {@code
 *     key_overflow}
 * @param maxFlows maximum number of connections per processor and partition whose start or joined
 *     fields are kept
 * @param maxRows maximum number of rows that a processor emits per window
 * @param windowsKept maximum number of entries in a query's stream of window results
 * @param silentAfter how long a monitor may be silent before windows no longer wait for it; zero if
 *     they wait forever
 */
public record JobOptions(
    int parallelism,
    Duration checkpointInterval,
    String checkpointDirectory,
    int restartAttempts,
    int maxGroups,
    int maxFlows,
    int maxRows,
    int windowsKept,
    Duration silentAfter)
    implements Serializable {

  public JobOptions {
    positive("parallelism", parallelism);
    positive("max groups", maxGroups);
    positive("max flows", maxFlows);
    positive("max rows", maxRows);
    positive("windows kept", windowsKept);
    if (checkpointInterval.isNegative() || restartAttempts < 0) {
      throw new IllegalArgumentException(
          "checkpoint interval and restart attempts can't be negative");
    }
    if (silentAfter.isNegative()) {
      throw new IllegalArgumentException("silent-after can't be negative");
    }
  }

  private static void positive(String name, int value) {
    if (value < 1) {
      throw new IllegalArgumentException(name + " must be 1 or more, not " + value);
    }
  }

  /**
   * Returns the defaults: one subtask, a checkpoint per second in memory, and limits that fit a
   * heap of 1 GiB.
   */
  public static JobOptions defaults() {
    return new JobOptions(
        1, Duration.ofSeconds(1), "", 10, 1 << 20, 1 << 18, 10_000, 4096, Duration.ZERO);
  }

  public JobOptions withParallelism(int subtasks) {
    return new JobOptions(
        subtasks,
        checkpointInterval,
        checkpointDirectory,
        restartAttempts,
        maxGroups,
        maxFlows,
        maxRows,
        windowsKept,
        silentAfter);
  }

  public JobOptions withCheckpoints(Duration interval, String directory) {
    return new JobOptions(
        parallelism,
        interval,
        directory,
        restartAttempts,
        maxGroups,
        maxFlows,
        maxRows,
        windowsKept,
        silentAfter);
  }

  public JobOptions withRestartAttempts(int attempts) {
    return new JobOptions(
        parallelism,
        checkpointInterval,
        checkpointDirectory,
        attempts,
        maxGroups,
        maxFlows,
        maxRows,
        windowsKept,
        silentAfter);
  }

  public JobOptions withBounds(int groups, int flows, int rows) {
    return new JobOptions(
        parallelism,
        checkpointInterval,
        checkpointDirectory,
        restartAttempts,
        groups,
        flows,
        rows,
        windowsKept,
        silentAfter);
  }

  public JobOptions withSilentAfter(Duration silence) {
    return new JobOptions(
        parallelism,
        checkpointInterval,
        checkpointDirectory,
        restartAttempts,
        maxGroups,
        maxFlows,
        maxRows,
        windowsKept,
        silence);
  }
}
