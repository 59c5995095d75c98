package io.tapline.flink.ingest;

import io.tapline.flink.ProcessorSpec;
import io.tapline.flink.QuerySpec;
import io.tapline.flink.results.Accounts;
import java.io.DataInput;
import java.io.DataOutput;
import java.io.IOException;

/** All that is remembered of one partition: its lanes and its open flows. Not thread-safe. */
public final class PartitionState {
  final int partition;
  final PartitionLanes lanes;
  private final FlowPairing[] pairings;
  private boolean finished;

  PartitionState(QuerySpec query, int partition, int maxFlows) {
    this.partition = partition;
    this.lanes = new PartitionLanes(query);
    this.pairings = new FlowPairing[query.processors().size()];
    for (ProcessorSpec spec : query.processors()) {
      pairings[spec.index()] = spec.isPaired() ? new FlowPairing(spec, maxFlows) : null;
    }
  }

  boolean allEnded() {
    return lanes.allEnded(partition);
  }

  /** Null for a processor whose tuples stand alone. */
  FlowPairing pairing(ProcessorSpec spec) {
    return pairings[spec.index()];
  }

  /** Lets values count that the partition's watermark has passed. */
  void advance(Combiner[] combiners, Accounts accounts) {
    long watermark = lanes.watermarkNs(partition);
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

  /** What {@link #write} of a state of the same plan wrote. REQUIRES: nothing was added yet. */
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
