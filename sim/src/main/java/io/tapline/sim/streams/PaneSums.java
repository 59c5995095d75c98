package io.tapline.sim.streams;

import io.tapline.sim.streams.CompetentJob.Pane;
import java.util.HashMap;
import java.util.Map;
import java.util.TreeMap;
import org.apache.flink.streaming.api.operators.AbstractStreamOperator;
import org.apache.flink.streaming.api.operators.OneInputStreamOperator;
import org.apache.flink.streaming.api.watermark.Watermark;
import org.apache.flink.streaming.runtime.streamrecord.StreamRecord;

/**
 * Sums values by key and pane, and emits a pane's sums once the watermark has passed it. Emits
 * everything before a checkpoint, so it saves no state; the receiver adds up sums of the same pane.
 */
final class PaneSums extends AbstractStreamOperator<Pane>
    implements OneInputStreamOperator<Pane, Pane> {
  private transient TreeMap<Long, Map<String, Pane>> panes;
  private transient Map<String, Pane> latest;
  private transient long latestMs;
  private transient StreamRecord<Pane> out;

  @Override
  public void open() throws Exception {
    super.open();
    panes = new TreeMap<>();
    latestMs = Long.MIN_VALUE;
    out = new StreamRecord<>(null);
  }

  @Override
  public void processElement(StreamRecord<Pane> record) {
    Pane value = record.getValue();
    if (value.startMs != latestMs) {
      latestMs = value.startMs;
      latest = panes.computeIfAbsent(latestMs, start -> new HashMap<>());
    }
    Pane sum = latest.get(value.key);
    if (sum == null) {
      sum = new Pane();
      sum.key = value.key;
      sum.startMs = value.startMs;
      latest.put(sum.key, sum);
    }
    sum.sum += value.sum;
    sum.count += value.count;
  }

  @Override
  public void processWatermark(Watermark mark) throws Exception {
    while (!panes.isEmpty() && panes.firstKey() + CompetentJob.PANE_MS - 1 <= mark.getTimestamp()) {
      sendFirst();
    }
    super.processWatermark(mark);
  }

  @Override
  public void prepareSnapshotPreBarrier(long checkpoint) {
    while (!panes.isEmpty()) {
      sendFirst();
    }
  }

  private void sendFirst() {
    Map.Entry<Long, Map<String, Pane>> first = panes.pollFirstEntry();
    latestMs = Long.MIN_VALUE;
    for (Pane pane : first.getValue().values()) {
      output.collect(out.replace(pane, first.getKey()));
    }
  }
}
