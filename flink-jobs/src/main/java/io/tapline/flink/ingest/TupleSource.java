package io.tapline.flink.ingest;

import io.tapline.flink.Endpoints;
import io.tapline.flink.JobOptions;
import io.tapline.flink.KafkaClients;
import io.tapline.flink.QuerySpec;
import java.time.Duration;
import java.util.Properties;
import java.util.Set;
import java.util.stream.Collectors;
import org.apache.flink.api.common.typeinfo.TypeInformation;
import org.apache.flink.api.connector.source.Boundedness;
import org.apache.flink.api.connector.source.Source;
import org.apache.flink.api.connector.source.SourceReader;
import org.apache.flink.api.connector.source.SourceReaderContext;
import org.apache.flink.api.connector.source.SplitEnumerator;
import org.apache.flink.api.connector.source.SplitEnumeratorContext;
import org.apache.flink.api.java.typeutils.ResultTypeQueryable;
import org.apache.flink.connector.kafka.source.KafkaSource;
import org.apache.flink.connector.kafka.source.enumerator.KafkaSourceEnumState;
import org.apache.flink.connector.kafka.source.enumerator.initializer.NoStoppingOffsetsInitializer;
import org.apache.flink.connector.kafka.source.enumerator.initializer.OffsetsInitializer;
import org.apache.flink.connector.kafka.source.split.KafkaPartitionSplit;
import org.apache.flink.core.io.SimpleVersionedSerializer;
import org.apache.kafka.common.TopicPartition;

/**
 * Reads a query's partitions from their beginning until every monitor of the plan has ended its
 * stream.
 *
 * <p>A Kafka topic has no end, and the connector ends a partition only at an offset known
 * beforehand. So this is a {@link KafkaSource} declared bounded but without stopping offsets, which
 * makes its enumerator notify readers when they have all their partitions. An {@link EndingReader}
 * around each Kafka reader detects the ends of the streams.
 */
public final class TupleSource
    implements Source<Record, KafkaPartitionSplit, KafkaSourceEnumState>,
        ResultTypeQueryable<Record> {
  /**
   * Request timeout in milliseconds. Only when a request times out do clients notice a frozen or
   * disconnected broker and look for the new leader. Exceeds the nine seconds after which brokers
   * consider another broker dead.
   */
  private static final String BROKER_RESPONSE_MS = "12000";

  private static final String LAST_RESPONSE_MS = "20";

  private final QuerySpec query;
  private final Endpoints endpoints;
  private final JobOptions options;
  private final KafkaSource<Record> kafka;

  /**
   * Creates a source.
   *
   * @param options job options; only those for flows and silent monitors are used
   */
  public TupleSource(QuerySpec query, Endpoints endpoints, JobOptions options) {
    this.query = query;
    this.endpoints = endpoints;
    this.options = options;
    this.kafka =
        KafkaSource.<Record>builder()
            .setProperties(properties(endpoints, options))
            .setPartitions(partitions(query))
            .setClientIdPrefix("tapline-" + query.query())
            .setStartingOffsets(OffsetsInitializer.earliest())
            .setBounded(new NoStoppingOffsetsInitializer())
            .setDeserializer(new RecordReader())
            // Checkpoints contain the offsets; a consumer group would only leave state on the
            // broker.
            .setProperty("commit.offsets.on.checkpoint", "false")
            .setProperty("partition.discovery.interval.ms", "-1")
            .build();
  }

  private static Properties properties(Endpoints endpoints, JobOptions options) {
    Properties properties = KafkaClients.properties(endpoints.kafka());
    properties.setProperty("request.timeout.ms", BROKER_RESPONSE_MS);
    if (options.silentAfter().isZero()) {
      // The tuples of a capture arrive without pauses. A reader that has all of them can't close
      // before the broker has answered that there are no more, which takes half a second by
      // default.
      properties.setProperty("fetch.max.wait.ms", LAST_RESPONSE_MS);
    }
    return properties;
  }

  private static Set<TopicPartition> partitions(QuerySpec query) {
    return query.usedPartitions().stream()
        .map(partition -> new TopicPartition(query.topic(), partition))
        .collect(Collectors.toSet());
  }

  @Override
  public Boundedness getBoundedness() {
    return kafka.getBoundedness();
  }

  @Override
  public SourceReader<Record, KafkaPartitionSplit> createReader(SourceReaderContext context)
      throws Exception {
    return new EndingReader(
        query,
        options.maxFlows(),
        kafka.createReader(context),
        findsSilentMonitors() ? listening() : null);
  }

  /**
   * Returns true if silent monitors must be detected. Windows always wait for a query's only
   * monitor.
   */
  private boolean findsSilentMonitors() {
    return !options.silentAfter().isZero() && query.monitors().size() > 1;
  }

  private Listening listening() {
    Duration period = options.silentAfter().dividedBy(Silence.ROUNDS - 1);
    return new Listening(new TopicEnds(endpoints, query.topic(), period));
  }

  @Override
  public SplitEnumerator<KafkaPartitionSplit, KafkaSourceEnumState> createEnumerator(
      SplitEnumeratorContext<KafkaPartitionSplit> context) {
    return kafka.createEnumerator(retrying(context));
  }

  @Override
  public SplitEnumerator<KafkaPartitionSplit, KafkaSourceEnumState> restoreEnumerator(
      SplitEnumeratorContext<KafkaPartitionSplit> context, KafkaSourceEnumState state)
      throws Exception {
    var restored = kafka.restoreEnumerator(retrying(context), state);
    return knowsAll(state) ? new RestoredEnumerator(restored, context) : restored;
  }

  private RetryingContext retrying(SplitEnumeratorContext<KafkaPartitionSplit> context) {
    return new RetryingContext(context, endpoints.kafka(), query.topic());
  }

  private boolean knowsAll(KafkaSourceEnumState state) {
    return state.splits().stream()
        .map(known -> known.split().getTopicPartition())
        .collect(Collectors.toSet())
        .containsAll(partitions(query));
  }

  @Override
  public SimpleVersionedSerializer<KafkaPartitionSplit> getSplitSerializer() {
    return new KnownSplitSerializer();
  }

  @Override
  public SimpleVersionedSerializer<KafkaSourceEnumState> getEnumeratorCheckpointSerializer() {
    return kafka.getEnumeratorCheckpointSerializer();
  }

  @Override
  public TypeInformation<Record> getProducedType() {
    return kafka.getProducedType();
  }
}
