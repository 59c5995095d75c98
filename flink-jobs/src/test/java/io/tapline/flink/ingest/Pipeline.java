package io.tapline.flink.ingest;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.tapline.flink.JobOptions;
import io.tapline.flink.QuerySpec;
import io.tapline.flink.panes.PaneOperator;
import io.tapline.flink.results.RedisCalls;
import io.tapline.flink.results.ResultsOperator;
import io.tapline.flink.results.Update;
import io.tapline.schema.proto.Plan;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.api.java.tuple.Tuple2;
import org.apache.flink.core.memory.DataInputDeserializer;
import org.apache.flink.core.memory.DataOutputSerializer;
import org.apache.flink.runtime.checkpoint.OperatorSubtaskState;
import org.apache.flink.runtime.state.KeyGroupRangeAssignment;
import org.apache.flink.streaming.runtime.streamrecord.StreamRecord;
import org.apache.flink.streaming.util.AbstractStreamOperatorTestHarness;
import org.apache.flink.streaming.util.KeyedOneInputStreamOperatorTestHarness;
import org.apache.flink.streaming.util.OneInputStreamOperatorTestHarness;

/**
 * Runs the job's operators without a broker or Redis, record by record, in an order that the test
 * determines. The operators can be stopped at any record and restored with a different number of
 * subtasks.
 */
public final class Pipeline implements AutoCloseable {
  private static final ObjectMapper MAPPER = new ObjectMapper();

  private final QuerySpec query;
  private final JobOptions options;
  private final Map<Integer, PartitionState> partitions = new HashMap<>();
  private final List<ObjectNode> windows = new ArrayList<>();
  private final Map<String, String> totals = new TreeMap<>();
  private List<OneInputStreamOperatorTestHarness<Record, Tuple2<Integer, byte[]>>> ingest;
  private List<KeyedOneInputStreamOperatorTestHarness<Integer, Tuple2<Integer, byte[]>, byte[]>>
      panes;
  private OneInputStreamOperatorTestHarness<byte[], Update> results;
  private long checkpoints;

  public Pipeline(Plan plan, JobOptions options) throws Exception {
    this.query = QuerySpec.of(plan);
    this.options = options;
    start(options.parallelism(), null, null, 0);
  }

  private void start(
      int parallelism,
      OperatorSubtaskState paneState,
      OperatorSubtaskState resultState,
      int oldPanes)
      throws Exception {
    ingest = new ArrayList<>();
    panes = new ArrayList<>();
    for (int i = 0; i < parallelism; i++) {
      var source =
          new OneInputStreamOperatorTestHarness<Record, Tuple2<Integer, byte[]>>(
              new IngestOperator(query));
      source.open();
      ingest.add(source);
      var pane =
          new KeyedOneInputStreamOperatorTestHarness<Integer, Tuple2<Integer, byte[]>, byte[]>(
              new PaneOperator(query, options),
              flush -> flush.f0,
              Types.INT,
              Buckets.MAX_PARALLELISM,
              parallelism,
              i);
      if (paneState != null) {
        pane.initializeState(
            AbstractStreamOperatorTestHarness.repartitionOperatorState(
                paneState, Buckets.MAX_PARALLELISM, oldPanes, parallelism, i));
      }
      pane.open();
      panes.add(pane);
    }
    results = new OneInputStreamOperatorTestHarness<>(new ResultsOperator(query, options));
    results.setup(new SameUpdate());
    if (resultState != null) {
      results.initializeState(resultState);
    }
    results.open();
  }

  /** Feeds one Kafka record. */
  public void feed(int partition, byte[] value) throws Exception {
    process(RecordReader.read(partition, 0, value).with(state(partition)));
  }

  private PartitionState state(int partition) {
    return partitions.computeIfAbsent(
        partition, id -> new PartitionState(query, id, options.maxFlows()));
  }

  private void process(Record record) throws Exception {
    var subtask = ingest.get(record.partition() % ingest.size());
    subtask.processElement(new StreamRecord<>(record));
    drain();
  }

  /**
   * Ends rounds of {@link Silence} for a partition, as the source does. In each round, the whole
   * partition was read or, if {@code wasAnswered} is false, the broker did not answer.
   */
  public void listen(int partition, int rounds, boolean wasAnswered) throws Exception {
    PartitionState state = state(partition);
    for (int i = 0; i < rounds; i++) {
      if (state.endRound(wasAnswered)) {
        process(Record.silence(state));
      }
    }
  }

  /** Returns true if the source of this partition would end now. */
  public boolean ended(int partition) {
    return partitions.containsKey(partition) && partitions.get(partition).allEnded();
  }

  private void drain() throws Exception {
    for (var source : ingest) {
      for (Tuple2<Integer, byte[]> flush : source.extractOutputValues()) {
        int subtask =
            KeyGroupRangeAssignment.assignKeyToParallelOperator(
                flush.f0, Buckets.MAX_PARALLELISM, panes.size());
        panes.get(subtask).processElement(new StreamRecord<>(flush));
      }
      source.getOutput().clear();
    }
    for (var pane : panes) {
      for (byte[] report : pane.extractOutputValues()) {
        results.processElement(new StreamRecord<>(report));
      }
      pane.getOutput().clear();
    }
    RedisCalls calls = new RedisCalls(query, options.windowsKept());
    for (Update update : results.extractOutputValues()) {
      take(calls.of(update));
    }
    results.getOutput().clear();
  }

  private void take(String[] call) throws Exception {
    if (call[0].equals("tapline_totals")) {
      for (int i = 4; i < call.length; i += 2) {
        totals.put(call[i], call[i + 1]);
      }
      return;
    }
    ObjectNode window = MAPPER.createObjectNode();
    window.put("processor", Integer.parseInt(call[9]));
    window.put("start", Long.parseLong(call[11])).put("end", Long.parseLong(call[12]));
    window.set("completeness", MAPPER.readTree(call[13]));
    var rows = window.putArray("rows");
    // Calls for windows and calls for alerts have the same arguments at the same positions.
    for (int i = 14; i < call.length; i += 3) {
      rows.add(MAPPER.readTree(call[i + 2]));
    }
    windows.add(window);
  }

  /**
   * Takes a checkpoint, discards all operators, and restores them from it with this parallelism.
   */
  public void restart(int parallelism) throws Exception {
    checkpoints++;
    for (var source : ingest) {
      source.prepareSnapshotPreBarrier(checkpoints);
    }
    drain();
    List<OperatorSubtaskState> states = new ArrayList<>();
    for (var pane : panes) {
      states.add(pane.snapshot(checkpoints, checkpoints));
    }
    OperatorSubtaskState resultState = results.snapshot(checkpoints, checkpoints);
    for (var entry : partitions.entrySet()) {
      entry.setValue(copy(entry.getKey(), entry.getValue()));
    }
    int previousSize = panes.size();
    close();
    OperatorSubtaskState paneState =
        AbstractStreamOperatorTestHarness.repackageState(
            states.toArray(OperatorSubtaskState[]::new));
    start(parallelism, paneState, resultState, previousSize);
  }

  private PartitionState copy(int partition, PartitionState state) throws Exception {
    DataOutputSerializer out = new DataOutputSerializer(1024);
    state.write(out);
    PartitionState copy = new PartitionState(query, partition, options.maxFlows());
    copy.read(new DataInputDeserializer(out.getCopyOfBuffer()));
    return copy;
  }

  /** Returns the windows of one processor in the order in which they were written. */
  public List<JsonNode> windows(int processor) {
    return Arrays.asList(
        windows.stream()
            .filter(w -> w.get("processor").asInt() == processor)
            .toArray(JsonNode[]::new));
  }

  public Map<String, String> totals() {
    return totals;
  }

  public long dropped(String reason) throws Exception {
    return MAPPER.readTree(totals.get("dropped")).path(reason).asLong();
  }

  @Override
  public void close() throws Exception {
    for (var source : ingest) {
      source.close();
    }
    for (var pane : panes) {
      pane.close();
    }
    results.close();
  }
}
