package io.tapline.flink.ingest;

import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;

/**
 * Finds silent monitors in rounds. In each round, the broker reports the end offsets of the
 * partitions, and the reader reads up to them. A monitor that sent nothing during the round has
 * then been silent for one more round (see {@link Silence}). Not thread-safe.
 */
final class Listening implements AutoCloseable {
  private final TopicEnds ends;
  private Map<Integer, Long> toRead;
  private boolean started;

  Listening(TopicEnds ends) {
    this.ends = ends;
  }

  /** Starts the first round; later calls have no effect. */
  void start(Collection<Integer> partitions) {
    if (!started) {
      started = true;
      ends.start(partitions);
    }
  }

  /**
   * Returns a future that completes when {@link #look} must be called even if no record arrives.
   */
  CompletableFuture<?> news() {
    return ends.news();
  }

  /**
   * Ends the round if it is complete; returns the partitions whose set of silent monitors changed.
   */
  List<PartitionState> look(Collection<PartitionState> partitions) {
    TopicEnds.Answer answer = ends.poll();
    if (answer != null && answer.ends() == null) {
      return endRound(partitions, false);
    }
    toRead = answer == null ? toRead : answer.ends();
    return toRead != null && partitions.stream().allMatch(this::isRead)
        ? endRound(partitions, true)
        : List.of();
  }

  private boolean isRead(PartitionState state) {
    return state.nextOffset() >= toRead.getOrDefault(state.partition, 0L);
  }

  private List<PartitionState> endRound(
      Collection<PartitionState> partitions, boolean wasAnswered) {
    toRead = null;
    ends.next();
    List<PartitionState> changedStates = new ArrayList<>();
    for (PartitionState state : partitions) {
      if (state.endRound(wasAnswered)) {
        changedStates.add(state);
      }
    }
    return changedStates;
  }

  @Override
  public void close() {
    ends.close();
  }
}
