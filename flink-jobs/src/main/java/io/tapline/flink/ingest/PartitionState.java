package io.tapline.flink.ingest;

import io.tapline.flink.ProcessorSpec;
import io.tapline.flink.QuerySpec;
import io.tapline.flink.accounting.Accounts;
import java.io.DataInput;
import java.io.DataOutput;
import java.io.IOException;
import java.util.stream.IntStream;

/**
 * The state of one partition: its lanes, its open flows and its silent monitors. Checkpoints omit
 * the silent monitors, since a restarted job detects silence again. Not thread-safe.
 */
public final class PartitionState {
  final int partition;
  final PartitionLanes lanes;
  private final QuerySpec query;
  private final FlowPairing[] pairings;
  private final Silence silence;
  private boolean finished;
  private long nextOffset;

  PartitionState(QuerySpec query, int partition, int maxFlows) {
    this.query = query;
    this.partition = partition;
    this.silence = new Silence(query.monitors().size());
    this.lanes = new PartitionLanes(query);
    this.pairings = new FlowPairing[query.processors().size()];
    for (ProcessorSpec spec : query.processors()) {
      pairings[spec.index()] = spec.isPaired() ? new FlowPairing(spec, maxFlows) : null;
    }
  }

  boolean allEnded() {
    return lanes.allEnded(partition);
  }

  /** Records that the partition has been read up to an offset (exclusive). */
  void readTo(long offset) {
    nextOffset = offset;
  }

  long nextOffset() {
    return nextOffset;
  }

  void markActive(String monitor) {
    int index = query.monitors().indexOf(monitor);
    if (index >= 0) {
      silence.markActive(index);
    }
  }

  /**
   * Ends a round of {@link Silence}.
   *
   * @param wasAnswered whether the broker answered
   * @return whether the set of silent monitors has changed
   */
  boolean endRound(boolean wasAnswered) {
    int previousSilentMonitors = silentMonitors();
    if (wasAnswered) {
      silence.endAnsweredRound();
    } else {
      silence.endUnansweredRound();
    }
    return silentMonitors() != previousSilentMonitors;
  }

  private int silentMonitors() {
    return (int) IntStream.range(0, query.monitors().size()).filter(this::isSilent).count();
  }

  /**
   * Returns true if the plan assigns the monitor to this partition, and the monitor is silent
   * although it has not ended.
   */
  boolean isSilent(int monitor) {
    return query.partitions().get(monitor) == partition
        && silence.isSilent(monitor)
        && !lanes.ended(monitor);
  }

  /**
   * Returns the lowest watermark of the partition's monitors, excluding silent ones unless all
   * others have ended.
   */
  long watermarkNs() {
    return lanes.watermarkNs(partition, this::isSilent);
  }

  /** Returns the processor's flow pairing; null if its tuples are not paired. */
  FlowPairing pairing(ProcessorSpec spec) {
    return pairings[spec.index()];
  }

  /** Counts the values that the partition's watermark has passed. */
  void advance(Combiner[] combiners, Accounts accounts) {
    long watermark = watermarkNs();
    boolean ends = !finished && allEnded();
    for (int i = 0; i < pairings.length; i++) {
      if (pairings[i] != null && ends) {
        pairings[i].finish(combiners[i], accounts.processor(i));
      } else if (pairings[i] != null) {
        pairings[i].advance(watermark, combiners[i], accounts.processor(i));
      }
    }
    finished |= ends;
  }

  void write(DataOutput out) throws IOException {
    lanes.write(out);
    out.writeBoolean(finished);
    for (FlowPairing pairing : pairings) {
      if (pairing != null) {
        pairing.write(out);
      }
    }
  }

  /**
   * Reads the state that {@link #write} wrote for the same plan. REQUIRES: nothing was added yet.
   */
  void read(DataInput in) throws IOException {
    lanes.read(in);
    finished = in.readBoolean();
    for (FlowPairing pairing : pairings) {
      if (pairing != null) {
        pairing.read(in);
      }
    }
  }
}
