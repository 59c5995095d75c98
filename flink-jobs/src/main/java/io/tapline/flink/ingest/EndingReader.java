package io.tapline.flink.ingest;

import io.tapline.flink.QuerySpec;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import org.apache.flink.api.common.eventtime.Watermark;
import org.apache.flink.api.connector.source.ReaderOutput;
import org.apache.flink.api.connector.source.SourceEvent;
import org.apache.flink.api.connector.source.SourceOutput;
import org.apache.flink.api.connector.source.SourceReader;
import org.apache.flink.connector.kafka.source.split.KafkaPartitionSplit;
import org.apache.flink.core.io.InputStatus;
import org.apache.flink.core.memory.DataInputDeserializer;
import org.apache.flink.core.memory.DataOutputSerializer;

/**
 * A Kafka reader that ends once every monitor in each of its partitions has ended its stream.
 *
 * <p>A partition's state (lanes, open flows) is stored here and saved with the split, so that it
 * moves with the partition. The {@link IngestOperator}, which is chained to the source, updates the
 * state while a record is being collected. Source and operator are checkpointed between the same
 * two records.
 */
final class EndingReader implements SourceReader<Record, KafkaPartitionSplit> {
  private final QuerySpec query;
  private final int maxFlows;
  private final SourceReader<Record, KafkaPartitionSplit> kafka;

  /** Null if windows wait forever for silent monitors. */
  private final Listening listening;

  private final Map<Integer, PartitionState> partitions = new HashMap<>();
  private boolean hasAllSplits;
  private ReaderOutput<Record> lastOutput;
  private ReaderOutput<Record> statefulOutput;

  /**
   * Creates a reader around a Kafka reader.
   *
   * @param listening null if windows wait forever for silent monitors
   */
  EndingReader(
      QuerySpec query,
      int maxFlows,
      SourceReader<Record, KafkaPartitionSplit> kafka,
      Listening listening) {
    this.query = query;
    this.maxFlows = maxFlows;
    this.kafka = kafka;
    this.listening = listening;
  }

  @Override
  public void start() {
    kafka.start();
  }

  @Override
  public InputStatus pollNext(ReaderOutput<Record> output) throws Exception {
    if (ended()) {
      return InputStatus.END_OF_INPUT;
    }
    if (output != lastOutput) {
      lastOutput = output;
      statefulOutput = new StatefulOutput(output);
    }
    InputStatus status = kafka.pollNext(statefulOutput);
    if (listening != null) {
      listening.look(partitions.values()).forEach(state -> output.collect(Record.silence(state)));
    }
    return ended() ? InputStatus.END_OF_INPUT : status;
  }

  private boolean ended() {
    return hasAllSplits && partitions.values().stream().allMatch(PartitionState::allEnded);
  }

  @Override
  public void addSplits(List<KafkaPartitionSplit> splits) {
    for (KafkaPartitionSplit split : splits) {
      partitions.put(split.getPartition(), state(split));
    }
    kafka.addSplits(splits);
  }

  private PartitionState state(KafkaPartitionSplit split) {
    PartitionState state = new PartitionState(query, split.getPartition(), maxFlows);
    state.readTo(Math.max(0, split.getStartingOffset()));
    if (!(split instanceof KnownSplit knownSplit)) {
      return state;
    }
    try {
      state.read(new DataInputDeserializer(knownSplit.memory()));
      return state;
    } catch (IOException e) {
      throw new UncheckedIOException("checkpoint of " + split.splitId() + " can't be read", e);
    }
  }

  @Override
  public List<KafkaPartitionSplit> snapshotState(long checkpointId) {
    return kafka.snapshotState(checkpointId).stream().map(this::withMemory).toList();
  }

  private KafkaPartitionSplit withMemory(KafkaPartitionSplit split) {
    DataOutputSerializer out = new DataOutputSerializer(256);
    try {
      partitions.get(split.getPartition()).write(out);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    return new KnownSplit(
        split.getTopicPartition(), split.getStartingOffset(), out.getCopyOfBuffer());
  }

  @Override
  public CompletableFuture<Void> isAvailable() {
    if (ended()) {
      return CompletableFuture.completedFuture(null);
    }
    CompletableFuture<Void> records = kafka.isAvailable();
    return listening == null || records.isDone()
        ? records
        : CompletableFuture.anyOf(records, listening.news()).thenApply(ignored -> null);
  }

  @Override
  public void notifyNoMoreSplits() {
    hasAllSplits = true;
    kafka.notifyNoMoreSplits();
    if (listening != null && !partitions.isEmpty()) {
      listening.start(List.copyOf(partitions.keySet()));
    }
  }

  @Override
  public void handleSourceEvents(SourceEvent event) {
    kafka.handleSourceEvents(event);
  }

  @Override
  public void notifyCheckpointComplete(long checkpointId) throws Exception {
    kafka.notifyCheckpointComplete(checkpointId);
  }

  @Override
  public void notifyCheckpointAborted(long checkpointId) throws Exception {
    kafka.notifyCheckpointAborted(checkpointId);
  }

  @Override
  public void pauseOrResumeSplits(Collection<String> pause, Collection<String> resume) {
    kafka.pauseOrResumeSplits(pause, resume);
  }

  @Override
  public void close() throws Exception {
    if (listening != null) {
      listening.close();
    }
    kafka.close();
  }

  /** Adds a partition's state to each of its records; all splits share one output. */
  private final class StatefulOutput implements ReaderOutput<Record> {
    private final ReaderOutput<Record> output;

    private StatefulOutput(ReaderOutput<Record> output) {
      this.output = output;
    }

    @Override
    public void collect(Record record) {
      output.collect(withState(record));
    }

    private Record withState(Record record) {
      PartitionState state = partitions.get(record.partition());
      state.readTo(record.offset() + 1);
      return record.with(state);
    }

    @Override
    public void collect(Record record, long timestamp) {
      output.collect(withState(record), timestamp);
    }

    @Override
    public void emitWatermark(Watermark watermark) {
      output.emitWatermark(watermark);
    }

    @Override
    public void markIdle() {
      output.markIdle();
    }

    @Override
    public void markActive() {
      output.markActive();
    }

    @Override
    public SourceOutput<Record> createOutputForSplit(String splitId) {
      return this;
    }

    @Override
    public void releaseOutputForSplit(String splitId) {}
  }
}
