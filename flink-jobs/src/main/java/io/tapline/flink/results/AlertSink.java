package io.tapline.flink.results;

import io.tapline.flink.Endpoints;
import io.tapline.flink.KafkaClients;
import io.tapline.flink.QuerySpec;
import io.tapline.flink.TriggerSpec;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicReference;
import org.apache.flink.api.connector.sink2.Sink;
import org.apache.flink.api.connector.sink2.StatefulSinkWriter;
import org.apache.flink.api.connector.sink2.SupportsWriterState;
import org.apache.flink.api.connector.sink2.WriterInitContext;
import org.apache.flink.core.io.SimpleVersionedSerializer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerConfig;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/**
 * Carries alerts out of the calls that write them into Redis to webhooks and Kafka topics, at least
 * once: what a webhook has not answered is part of a checkpoint, and a topic has what came before
 * one.
 */
public final class AlertSink
    implements Sink<String[]>, SupportsWriterState<String[], AlertDelivery> {
  /** Environment variable with the secret that signs webhooks: plans can be read, this can't. */
  public static final String SECRET = "TAPLINE_WEBHOOK_SECRET";

  private final QuerySpec query;
  private final Endpoints endpoints;

  public AlertSink(QuerySpec query, Endpoints endpoints) {
    this.query = query;
    this.endpoints = endpoints;
  }

  @Override
  public Writer createWriter(WriterInitContext context) {
    return restoreWriter(context, List.of());
  }

  @Override
  public Writer restoreWriter(WriterInitContext context, Collection<AlertDelivery> waiting) {
    Writer writer = new Writer(query, endpoints, System.getenv().getOrDefault(SECRET, ""));
    waiting.forEach(writer.webhooks::add);
    return writer;
  }

  @Override
  public SimpleVersionedSerializer<AlertDelivery> getWriterStateSerializer() {
    return new AlertDelivery.Serializer();
  }

  static final class Writer implements StatefulSinkWriter<String[], AlertDelivery> {
    private final QuerySpec query;
    private final Endpoints endpoints;
    private final Webhooks webhooks;
    private final AtomicReference<Exception> failure = new AtomicReference<>();
    private KafkaProducer<byte[], byte[]> producer;

    Writer(QuerySpec query, Endpoints endpoints, String secret) {
      this.query = query;
      this.endpoints = endpoints;
      this.webhooks = new Webhooks(secret);
      webhooks.start();
    }

    @Override
    public void write(String[] call, Context context) {
      for (String[] alert : RedisCalls.alertsOf(call)) {
        TriggerSpec trigger = query.processors().get(Integer.parseInt(alert[0])).trigger();
        trigger.webhooks().forEach(url -> webhooks.add(new AlertDelivery(url, alert[1])));
        trigger.topics().forEach(topic -> send(topic, alert[1]));
      }
    }

    private void send(String topic, String json) {
      if (producer == null) {
        Map<String, Object> settings = KafkaClients.settings(endpoints.kafka());
        settings.put(ProducerConfig.CLIENT_ID_CONFIG, "tapline-alerts-" + query.query());
        settings.put(ProducerConfig.LINGER_MS_CONFIG, 0);
        producer =
            new KafkaProducer<>(settings, new ByteArraySerializer(), new ByteArraySerializer());
      }
      byte[] value = json.getBytes(StandardCharsets.UTF_8);
      producer.send(
          new ProducerRecord<>(topic, value),
          (metadata, fault) -> failure.compareAndSet(null, fault));
    }

    /**
     * A topic that can't be written to fails the checkpoint, and with it the job: it starts again.
     */
    @Override
    public void flush(boolean endOfInput) throws IOException {
      if (producer != null) {
        producer.flush();
      }
      if (failure.get() != null) {
        throw new IOException("alerts can't be sent: " + failure.get().getMessage(), failure.get());
      }
    }

    @Override
    public List<AlertDelivery> snapshotState(long checkpoint) {
      return webhooks.pending();
    }

    @Override
    public void close() {
      webhooks.close();
      if (producer != null) {
        producer.close();
      }
    }
  }
}
