package io.tapline.flink.results;

import io.tapline.flink.Endpoints;
import io.tapline.flink.KafkaClients;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import java.util.concurrent.atomic.AtomicReference;
import org.apache.flink.api.connector.sink2.Sink;
import org.apache.flink.api.connector.sink2.SinkWriter;
import org.apache.flink.api.connector.sink2.WriterInitContext;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerConfig;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/**
 * Sends each window that is written to Redis to a Kafka topic, too, as one line of JSON.
 *
 * <p>Delivery is at least once: after a failure, windows are sent again, the same and in order, so
 * that a reader that skips those that end no later than its last one sees each once.
 */
public final class ResultsTopic implements Sink<String[]> {
  private final String query;
  private final Endpoints endpoints;

  public ResultsTopic(String query, Endpoints endpoints) {
    this.query = query;
    this.endpoints = endpoints;
  }

  @Override
  public SinkWriter<String[]> createWriter(WriterInitContext context) {
    return new Writer(query, endpoints.resultsTopic(), producer());
  }

  private KafkaProducer<byte[], byte[]> producer() {
    Map<String, Object> settings = KafkaClients.settings(endpoints.kafka());
    settings.put(ProducerConfig.CLIENT_ID_CONFIG, "tapline-results-" + query);
    settings.put(ProducerConfig.COMPRESSION_TYPE_CONFIG, "lz4");
    settings.put(ProducerConfig.MAX_REQUEST_SIZE_CONFIG, 16 << 20);
    return new KafkaProducer<>(settings, new ByteArraySerializer(), new ByteArraySerializer());
  }

  private static final class Writer implements SinkWriter<String[]> {
    private final String query;
    private final String topic;
    private final KafkaProducer<byte[], byte[]> producer;
    private final AtomicReference<Exception> failure = new AtomicReference<>();

    private Writer(String query, String topic, KafkaProducer<byte[], byte[]> producer) {
      this.query = query;
      this.topic = topic;
      this.producer = producer;
    }

    /** A processor's windows share a partition, and so stay in order. */
    @Override
    public void write(String[] call, Context context) {
      String line = RedisCalls.line(query, call);
      if (!line.isEmpty()) {
        byte[] key = (query + ":" + RedisCalls.processorOf(call)).getBytes(StandardCharsets.UTF_8);
        producer.send(
            new ProducerRecord<>(topic, key, line.getBytes(StandardCharsets.UTF_8)),
            (metadata, fault) -> failure.compareAndSet(null, fault));
      }
    }

    /** A topic that can't be written to fails the checkpoint and with it the job. */
    @Override
    public void flush(boolean endOfInput) throws IOException {
      producer.flush();
      if (failure.get() != null) {
        throw new IOException(
            "results can't be sent to topic " + topic + ": " + failure.get().getMessage(),
            failure.get());
      }
    }

    @Override
    public void close() {
      producer.close();
    }
  }
}
