package io.tapline.flink.ingest;

import java.io.IOException;
import java.util.List;
import org.apache.flink.api.connector.source.SourceEvent;
import org.apache.flink.api.connector.source.SplitEnumerator;
import org.apache.flink.api.connector.source.SplitEnumeratorContext;
import org.apache.flink.connector.kafka.source.enumerator.KafkaSourceEnumState;
import org.apache.flink.connector.kafka.source.split.KafkaPartitionSplit;

/**
 * A Kafka enumerator for a job that is restored from a checkpoint whose state has all partitions.
 *
 * <p>The connector's own enumerator notifies readers that they have all their partitions only after
 * it has discovered new partitions, which a restored enumerator never does. So a bounded job would
 * not end after a job manager failure, or when started from a savepoint. This enumerator notifies
 * each reader when the reader registers, after its partitions were assigned.
 */
final class RestoredEnumerator
    implements SplitEnumerator<KafkaPartitionSplit, KafkaSourceEnumState> {
  private final SplitEnumerator<KafkaPartitionSplit, KafkaSourceEnumState> kafka;
  private final SplitEnumeratorContext<KafkaPartitionSplit> context;

  RestoredEnumerator(
      SplitEnumerator<KafkaPartitionSplit, KafkaSourceEnumState> kafka,
      SplitEnumeratorContext<KafkaPartitionSplit> context) {
    this.kafka = kafka;
    this.context = context;
  }

  @Override
  public void start() {
    kafka.start();
  }

  @Override
  public void addReader(int subtask) {
    kafka.addReader(subtask);
    context.signalNoMoreSplits(subtask);
  }

  @Override
  public void handleSplitRequest(int subtask, String host) {
    kafka.handleSplitRequest(subtask, host);
  }

  @Override
  public void addSplitsBack(List<KafkaPartitionSplit> splits, int subtask) {
    kafka.addSplitsBack(splits, subtask);
  }

  @Override
  public void handleSourceEvent(int subtask, SourceEvent event) {
    kafka.handleSourceEvent(subtask, event);
  }

  @Override
  public KafkaSourceEnumState snapshotState(long checkpoint) throws Exception {
    return kafka.snapshotState(checkpoint);
  }

  @Override
  public void notifyCheckpointComplete(long checkpoint) throws Exception {
    kafka.notifyCheckpointComplete(checkpoint);
  }

  @Override
  public void notifyCheckpointAborted(long checkpoint) throws Exception {
    kafka.notifyCheckpointAborted(checkpoint);
  }

  @Override
  public void close() throws IOException {
    kafka.close();
  }
}
