package io.tapline.flink.ingest;

import io.tapline.flink.KafkaEndpoint;
import io.tapline.flink.KafkaRefusal;
import java.time.Duration;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.function.BiConsumer;
import org.apache.flink.api.connector.source.ReaderInfo;
import org.apache.flink.api.connector.source.SourceEvent;
import org.apache.flink.api.connector.source.SplitEnumeratorContext;
import org.apache.flink.api.connector.source.SplitsAssignment;
import org.apache.flink.connector.kafka.source.split.KafkaPartitionSplit;
import org.apache.flink.metrics.groups.SplitEnumeratorMetricGroup;

/**
 * A context that retries a Kafka enumerator's requests while brokers refuse them. If they still do
 * so after a timeout, the job fails.
 */
final class RetryingContext implements SplitEnumeratorContext<KafkaPartitionSplit> {
  private static final Duration TIMEOUT = Duration.ofSeconds(5);

  private final SplitEnumeratorContext<KafkaPartitionSplit> context;
  private final KafkaEndpoint kafka;
  private final String topic;

  RetryingContext(
      SplitEnumeratorContext<KafkaPartitionSplit> context, KafkaEndpoint kafka, String topic) {
    this.context = context;
    this.kafka = kafka;
    this.topic = topic;
  }

  private <T> Callable<T> retrying(Callable<T> question) {
    return () -> KafkaRefusal.retried(question, TIMEOUT, kafka, "read topic " + topic);
  }

  @Override
  public <T> void callAsync(Callable<T> question, BiConsumer<T, Throwable> handler) {
    context.callAsync(retrying(question), handler);
  }

  @Override
  public <T> void callAsync(
      Callable<T> question, BiConsumer<T, Throwable> handler, long delayMs, long periodMs) {
    context.callAsync(retrying(question), handler, delayMs, periodMs);
  }

  @Override
  public SplitEnumeratorMetricGroup metricGroup() {
    return context.metricGroup();
  }

  @Override
  public void sendEventToSourceReader(int subtask, SourceEvent event) {
    context.sendEventToSourceReader(subtask, event);
  }

  @Override
  public int currentParallelism() {
    return context.currentParallelism();
  }

  @Override
  public Map<Integer, ReaderInfo> registeredReaders() {
    return context.registeredReaders();
  }

  @Override
  public void assignSplits(SplitsAssignment<KafkaPartitionSplit> assignment) {
    context.assignSplits(assignment);
  }

  @Override
  public void signalNoMoreSplits(int subtask) {
    context.signalNoMoreSplits(subtask);
  }

  @Override
  public void runInCoordinatorThread(Runnable task) {
    context.runInCoordinatorThread(task);
  }
}
