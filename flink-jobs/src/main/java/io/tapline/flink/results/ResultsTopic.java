package io.tapline.flink.results;

import io.tapline.flink.Endpoints;
import io.tapline.flink.KafkaClients;
import io.tapline.flink.ProcessorSpec;
import io.tapline.flink.QuerySpec;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.Properties;
import org.apache.flink.connector.base.DeliveryGuarantee;
import org.apache.flink.connector.kafka.sink.KafkaRecordSerializationSchema;
import org.apache.flink.connector.kafka.sink.KafkaSink;
import org.apache.kafka.clients.producer.ProducerConfig;
import org.apache.kafka.clients.producer.ProducerRecord;

/**
 * Sends each window to a Kafka topic as one line of JSON, in addition to Redis.
 *
 * <p>Delivery is at least once. After a failure, the same windows are sent again in order. A reader
 * processes each window once if it skips those that do not end later than the last window of the
 * same processor. Transactions would delay each window until the next checkpoint. If the topic is
 * not writable, the checkpoint fails, and with it the job.
 */
public final class ResultsTopic implements KafkaRecordSerializationSchema<WindowUpdate> {
  private static final int MAX_BYTES = 16 << 20;

  private final QuerySpec query;
  private final String topic;

  private ResultsTopic(QuerySpec query, String topic) {
    this.query = query;
    this.topic = topic;
  }

  /** Returns a sink that writes to the results topic of these endpoints. */
  public static KafkaSink<WindowUpdate> sink(QuerySpec query, Endpoints endpoints) {
    Properties settings = KafkaClients.properties(endpoints.kafka());
    settings.setProperty(ProducerConfig.CLIENT_ID_CONFIG, "tapline-results-" + query.query());
    settings.setProperty(ProducerConfig.COMPRESSION_TYPE_CONFIG, "lz4");
    settings.setProperty(ProducerConfig.MAX_REQUEST_SIZE_CONFIG, Integer.toString(MAX_BYTES));
    return KafkaSink.<WindowUpdate>builder()
        .setBootstrapServers(endpoints.kafka().brokers())
        .setKafkaProducerConfig(settings)
        .setDeliveryGuarantee(DeliveryGuarantee.AT_LEAST_ONCE)
        .setRecordSerializer(new ResultsTopic(query, endpoints.resultsTopic()))
        .build();
  }

  /**
   * Gives all windows of a processor the same key, so that they share a partition and stay in
   * order.
   */
  @Override
  public ProducerRecord<byte[], byte[]> serialize(
      WindowUpdate update, KafkaSinkContext context, Long timestamp) {
    byte[] key = bytes(query.query() + ":" + update.window().processor());
    try {
      return new ProducerRecord<>(topic, key, bytes(line(update)));
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private static byte[] bytes(String text) {
    return text.getBytes(StandardCharsets.UTF_8);
  }

  private String line(WindowUpdate update) throws IOException {
    ProcessorSpec processor = update.processor(query);
    String completeness = update.completeness(query);
    return "{\"query\":\"%s\",\"processor\":%d,\"name\":\"%s\",\"window_start_ns\":%d,\"window_end_ns\":%d,\"completeness\":"
            .formatted(
                query.query(),
                processor.index(),
                processor.name(),
                update.window().startNs(),
                update.window().endNs())
        + completeness
        + ",\"rows\":["
        + String.join(",", update.rows(query, completeness))
        + "]}";
  }
}
