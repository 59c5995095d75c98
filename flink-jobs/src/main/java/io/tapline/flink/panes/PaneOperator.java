package io.tapline.flink.panes;

import io.tapline.flink.JobOptions;
import io.tapline.flink.QuerySpec;
import io.tapline.flink.ingest.Buckets;
import io.tapline.flink.results.BucketReport;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.flink.api.common.state.MapState;
import org.apache.flink.api.common.state.MapStateDescriptor;
import org.apache.flink.api.common.typeinfo.PrimitiveArrayTypeInfo;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.api.java.tuple.Tuple2;
import org.apache.flink.core.memory.DataInputDeserializer;
import org.apache.flink.core.memory.DataOutputSerializer;
import org.apache.flink.runtime.state.StateInitializationContext;
import org.apache.flink.runtime.state.StateSnapshotContext;
import org.apache.flink.runtime.state.VoidNamespace;
import org.apache.flink.streaming.api.operators.AbstractStreamOperator;
import org.apache.flink.streaming.api.operators.OneInputStreamOperator;
import org.apache.flink.streaming.runtime.streamrecord.StreamRecord;

/**
 * Keeps panes by bucket: merges the partial aggregates of the ingest subtasks, closes windows once
 * the watermark has passed them, and reports each bucket's rows.
 *
 * <p>Works on plain arrays. Each checkpoint updates the keyed state (bucket -> name -> bytes) with
 * the panes that changed since the last one.
 */
public final class PaneOperator extends AbstractStreamOperator<byte[]>
    implements OneInputStreamOperator<Tuple2<Integer, byte[]>, byte[]> {

  private static final String STATE = "panes";
  private static final String HEADER = "header";

  private final QuerySpec query;
  private final JobOptions options;

  private transient MapState<String, byte[]> state;
  private transient Map<Integer, Bucket> buckets;

  public PaneOperator(QuerySpec query, JobOptions options) {
    this.query = query;
    this.options = options;
  }

  @Override
  public void initializeState(StateInitializationContext context) throws Exception {
    super.initializeState(context);
    buckets = new HashMap<>();
    state =
        context
            .getKeyedStateStore()
            .getMapState(
                new MapStateDescriptor<>(
                    STATE, Types.STRING, PrimitiveArrayTypeInfo.BYTE_PRIMITIVE_ARRAY_TYPE_INFO));
    if (context.isRestored()) {
      restore();
    }
  }

  private void restore() throws Exception {
    List<Integer> keys;
    try (var stored = this.<Integer>getKeyedStateBackend().getKeys(STATE, VoidNamespace.INSTANCE)) {
      keys = stored.distinct().toList();
    }
    for (Integer key : keys) {
      setCurrentKey(key);
      Bucket bucket = new Bucket(query, options, Buckets.COUNT);
      for (var entry : state.entries()) {
        read(bucket, entry.getKey(), new DataInputDeserializer(entry.getValue()));
      }
      buckets.put(key, bucket);
    }
  }

  private static void read(Bucket bucket, String name, DataInputDeserializer in) throws Exception {
    if (name.equals(HEADER)) {
      bucket.readHeader(in);
    } else {
      int separator = name.indexOf(':');
      int table = Integer.parseInt(name.substring(0, separator));
      bucket.tables[table].readPane(in, Long.parseLong(name.substring(separator + 1)));
    }
  }

  @Override
  public void processElement(StreamRecord<Tuple2<Integer, byte[]>> element) throws Exception {
    Integer key = element.getValue().f0;
    Bucket bucket = buckets.computeIfAbsent(key, id -> new Bucket(query, options, Buckets.COUNT));
    BucketReport report =
        bucket.take(Buckets.ofKey(key), new DataInputDeserializer(element.getValue().f1));
    if (report != null) {
      output.collect(new StreamRecord<>(report.toBytes()));
    }
  }

  @Override
  public void snapshotState(StateSnapshotContext context) throws Exception {
    super.snapshotState(context);
    for (var entry : buckets.entrySet()) {
      setCurrentKey(entry.getKey());
      store(entry.getValue());
    }
  }

  private void store(Bucket bucket) throws Exception {
    DataOutputSerializer out = new DataOutputSerializer(1024);
    bucket.writeHeader(out);
    state.put(HEADER, out.getCopyOfBuffer());
    for (int table = 0; table < bucket.tables.length; table++) {
      ProcessorPanes panes = bucket.tables[table];
      for (long pane : panes.takeRemoved()) {
        state.remove(table + ":" + pane);
      }
      for (long pane : panes.takeChanged()) {
        out.clear();
        panes.writePane(out, pane);
        state.put(table + ":" + pane, out.getCopyOfBuffer());
      }
    }
  }
}
