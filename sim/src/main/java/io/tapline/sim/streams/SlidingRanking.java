package io.tapline.sim.streams;

import io.tapline.sim.streams.CompetentJob.Pane;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.util.ArrayDeque;
import java.util.Comparator;
import java.util.HashMap;
import java.util.Map;
import java.util.PriorityQueue;
import java.util.TreeMap;
import org.apache.flink.api.java.tuple.Tuple3;
import org.apache.flink.runtime.state.StateInitializationContext;
import org.apache.flink.runtime.state.StatePartitionStreamProvider;
import org.apache.flink.runtime.state.StateSnapshotContext;
import org.apache.flink.streaming.api.operators.AbstractStreamOperator;
import org.apache.flink.streaming.api.operators.OneInputStreamOperator;
import org.apache.flink.streaming.api.watermark.Watermark;
import org.apache.flink.streaming.runtime.streamrecord.StreamRecord;

/**
 * Computes the highest rows of each window among the keys of this subtask. Maintains a window's
 * sums by adding the pane that enters and subtracting the pane that leaves. Its state is the panes;
 * a restart requires the same parallelism.
 */
final class SlidingRanking extends AbstractStreamOperator<Tuple3<String, Long, Long>>
    implements OneInputStreamOperator<Pane, Tuple3<String, Long, Long>> {
  private final long sizeMs;
  private final int rows;

  /** Panes that are not part of a window yet, and those of the last window, oldest first. */
  private transient TreeMap<Long, Map<String, long[]>> coming;

  private transient ArrayDeque<Map.Entry<Long, Map<String, long[]>>> inside;
  private transient Map<String, long[]> total;
  private transient long nextPaneMs;

  SlidingRanking(long sizeMs, int rows) {
    this.sizeMs = sizeMs;
    this.rows = rows;
  }

  @Override
  public void initializeState(StateInitializationContext context) throws Exception {
    super.initializeState(context);
    coming = new TreeMap<>();
    inside = new ArrayDeque<>();
    total = new HashMap<>();
    nextPaneMs = Long.MIN_VALUE;
    if (context.isRestored()) {
      for (StatePartitionStreamProvider part : context.getRawOperatorStateInputs()) {
        restore(new DataInputStream(part.getStream()));
      }
    }
  }

  @Override
  public void processElement(StreamRecord<Pane> record) {
    Pane pane = record.getValue();
    Map<String, long[]> sums = coming.computeIfAbsent(pane.startMs, start -> new HashMap<>());
    add(sums, pane.key, pane.sum, pane.count);
  }

  private static void add(Map<String, long[]> sums, String key, long sum, long count) {
    long[] counts = sums.get(key);
    if (counts == null) {
      sums.put(key, new long[] {sum, count});
    } else {
      counts[0] += sum;
      counts[1] += count;
    }
  }

  @Override
  public void processWatermark(Watermark mark) throws Exception {
    while (hasWindowBefore(mark.getTimestamp())) {
      long endMs = nextPaneMs + CompetentJob.PANE_MS;
      slideTo(endMs);
      rank(endMs);
      nextPaneMs = endMs;
    }
    super.processWatermark(mark);
  }

  private boolean hasWindowBefore(long timestamp) {
    if (coming.isEmpty() && inside.isEmpty()) {
      nextPaneMs = Long.MIN_VALUE;
      return false;
    }
    if (nextPaneMs == Long.MIN_VALUE) {
      nextPaneMs = coming.firstKey();
    }
    return nextPaneMs + CompetentJob.PANE_MS - 1 <= timestamp;
  }

  private void slideTo(long endMs) {
    while (!inside.isEmpty() && inside.peekFirst().getKey() < endMs - sizeMs) {
      inside.pollFirst().getValue().forEach(this::takeOff);
    }
    Map<String, long[]> entering = coming.remove(endMs - CompetentJob.PANE_MS);
    if (entering != null) {
      entering.forEach((key, sum) -> add(total, key, sum[0], sum[1]));
      inside.addLast(Map.entry(endMs - CompetentJob.PANE_MS, entering));
    }
  }

  private void takeOff(String key, long[] sum) {
    long[] counts = total.get(key);
    counts[0] -= sum[0];
    counts[1] -= sum[1];
    if (counts[1] == 0) {
      total.remove(key);
    }
  }

  private void rank(long endMs) {
    PriorityQueue<Map.Entry<String, long[]>> best =
        new PriorityQueue<>(Comparator.comparingDouble(SlidingRanking::value));
    for (Map.Entry<String, long[]> entry : total.entrySet()) {
      if (best.size() < rows) {
        best.add(entry);
      } else if (value(entry) > value(best.peek())) {
        best.poll();
        best.add(entry);
      }
    }
    for (Map.Entry<String, long[]> entry : best) {
      Tuple3<String, Long, Long> row =
          Tuple3.of(entry.getKey(), entry.getValue()[0], entry.getValue()[1]);
      output.collect(new StreamRecord<>(row, endMs - 1));
    }
  }

  private static double value(Map.Entry<String, long[]> row) {
    return TextbookJob.Top.value(row.getValue()[0], row.getValue()[1]);
  }

  @Override
  public void snapshotState(StateSnapshotContext context) throws Exception {
    super.snapshotState(context);
    context.getRawOperatorStateOutput().startNewPartition();
    DataOutputStream out = new DataOutputStream(context.getRawOperatorStateOutput());
    out.writeLong(nextPaneMs);
    out.writeInt(inside.size() + coming.size());
    for (Map.Entry<Long, Map<String, long[]>> pane : inside) {
      write(out, pane);
    }
    for (Map.Entry<Long, Map<String, long[]>> pane : coming.entrySet()) {
      write(out, pane);
    }
    out.flush();
  }

  private static void write(DataOutputStream out, Map.Entry<Long, Map<String, long[]>> pane)
      throws IOException {
    out.writeLong(pane.getKey());
    out.writeInt(pane.getValue().size());
    for (Map.Entry<String, long[]> entry : pane.getValue().entrySet()) {
      out.writeUTF(entry.getKey());
      out.writeLong(entry.getValue()[0]);
      out.writeLong(entry.getValue()[1]);
    }
  }

  private void restore(DataInputStream in) throws IOException {
    nextPaneMs = in.readLong();
    for (int panes = in.readInt(); panes > 0; panes--) {
      long startMs = in.readLong();
      Map<String, long[]> sums = new HashMap<>();
      for (int keys = in.readInt(); keys > 0; keys--) {
        sums.put(in.readUTF(), new long[] {in.readLong(), in.readLong()});
      }
      if (startMs >= nextPaneMs) {
        coming.put(startMs, sums);
      } else {
        sums.forEach((key, sum) -> add(total, key, sum[0], sum[1]));
        inside.addLast(Map.entry(startMs, sums));
      }
    }
  }
}
