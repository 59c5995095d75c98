package io.tapline.flink.ingest;

import io.tapline.aggregates.Wire;
import io.tapline.flink.QuerySpec;
import io.tapline.flink.accounting.Ledger;
import io.tapline.flink.group.GroupTable;
import java.io.IOException;
import java.util.Arrays;
import java.util.Collection;
import org.apache.flink.api.java.tuple.Tuple2;
import org.apache.flink.core.memory.DataOutputSerializer;
import org.apache.flink.streaming.api.operators.Output;
import org.apache.flink.streaming.runtime.streamrecord.StreamRecord;

/**
 * Emits the partial aggregates, at most one record per bucket. The record carries everything that a
 * bucket must see in order, since records keep their order only within one channel:
 *
 * <pre>
 *   marks      count, then a {@link Mark} for each monitor of this subtask that has news
 *   accounts   flag; only bucket 0 gets them, and forwards them
 *   parts      until the end: processor, pane, real, count, that many groups
 * </pre>
 *
 * <p>The marks come first but take effect last, since the watermark promises that the parts are
 * complete.
 */
final class Flush {
  private final QuerySpec query;
  private final Output<StreamRecord<Tuple2<Integer, byte[]>>> output;
  private final DataOutputSerializer[] buckets = new DataOutputSerializer[Buckets.COUNT];
  private final long[] sentMarksNs;
  private final boolean[] sentEnds;
  private final boolean[] sentSilences;

  Flush(QuerySpec query, Output<StreamRecord<Tuple2<Integer, byte[]>>> output) {
    this.query = query;
    this.output = output;
    Arrays.setAll(buckets, bucket -> new DataOutputSerializer(256));
    sentMarksNs = new long[query.monitors().size()];
    sentEnds = new boolean[query.monitors().size()];
    sentSilences = new boolean[query.monitors().size()];
    Arrays.fill(sentMarksNs, Long.MIN_VALUE);
  }

  void send(Collection<PartitionState> partitions, Combiner[] combiners, Ledger accounts)
      throws IOException {
    byte[] marks = marks(partitions);
    boolean wasMoved = marks.length > 1;
    int headerLength = marks.length + 1;
    for (int bucket = 0; bucket < buckets.length; bucket++) {
      buckets[bucket].clear();
      buckets[bucket].write(marks);
      buckets[bucket].writeBoolean(bucket == 0);
    }
    accounts.write(buckets[0]);
    for (int table = 0; table < combiners.length; table++) {
      writePanes(table, combiners[table]);
    }
    for (int bucket = 0; bucket < buckets.length; bucket++) {
      boolean news = wasMoved || bucket == 0 && !accounts.isEmpty();
      if (news || buckets[bucket].length() > headerLength && bucket > 0) {
        byte[] bytes = buckets[bucket].getCopyOfBuffer();
        output.collect(new StreamRecord<>(Tuple2.of(Buckets.key(bucket), bytes)));
      }
    }
  }

  /**
   * Encodes the marks of the monitors that advanced, or whose silence changed, since the last call;
   * a single byte if there are none.
   */
  private byte[] marks(Collection<PartitionState> partitions) throws IOException {
    DataOutputSerializer movedSerializer = new DataOutputSerializer(64);
    int count = 0;
    for (PartitionState partition : partitions) {
      for (int monitor = 0; monitor < sentMarksNs.length; monitor++) {
        if (isHere(partition, monitor)) {
          count += writeMark(partition, monitor, movedSerializer) ? 1 : 0;
        }
      }
    }
    DataOutputSerializer out = new DataOutputSerializer(64);
    Wire.writeUnsigned(out, count);
    out.write(movedSerializer.getCopyOfBuffer());
    return out.getCopyOfBuffer();
  }

  /** Returns true if the plan assigns the monitor to this partition, or its tuples arrive here. */
  private boolean isHere(PartitionState partition, int monitor) {
    return query.partitions().get(monitor) == partition.partition
        || partition.lanes.markNs(monitor) > Long.MIN_VALUE;
  }

  /** Writes a monitor's mark and returns true, unless nothing has changed. */
  private boolean writeMark(PartitionState partition, int monitor, DataOutputSerializer out)
      throws IOException {
    long ns = partition.lanes.markNs(monitor);
    boolean ended = partition.lanes.ended(monitor);
    boolean isSilent = partition.isSilent(monitor);
    boolean wasMoved = ns > sentMarksNs[monitor] || ended && !sentEnds[monitor];
    if (!wasMoved && isSilent == sentSilences[monitor]) {
      return false;
    }
    new Mark(monitor, ns, ended, isSilent, partition.lanes.unwatched(monitor)).write(out);
    sentMarksNs[monitor] = Math.max(ns, sentMarksNs[monitor]);
    sentEnds[monitor] |= ended;
    sentSilences[monitor] = isSilent;
    return true;
  }

  private void writePanes(int tableNumber, Combiner combiner) throws IOException {
    for (var pane : combiner.panes().entrySet()) {
      writePane(tableNumber, pane.getKey(), pane.getValue());
    }
    combiner.clear();
  }

  private void writePane(int tableNumber, long pane, GroupTable table) throws IOException {
    int[] groups = new int[buckets.length];
    for (int entry = 0; entry < table.size(); entry++) {
      groups[Buckets.of(table.hash(entry))]++;
    }
    for (int bucket = 0; bucket < buckets.length; bucket++) {
      if (groups[bucket] > 0) {
        Wire.writeUnsigned(buckets[bucket], tableNumber);
        Wire.writeSigned(buckets[bucket], pane);
        buckets[bucket].writeBoolean(table.real());
        Wire.writeUnsigned(buckets[bucket], groups[bucket]);
      }
    }
    for (int entry = 0; entry < table.size(); entry++) {
      table.writeEntry(buckets[Buckets.of(table.hash(entry))], entry);
    }
  }
}
