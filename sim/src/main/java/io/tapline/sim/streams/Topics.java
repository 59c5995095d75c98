package io.tapline.sim.streams;

import io.tapline.flink.KafkaClients;
import io.tapline.flink.KafkaEndpoint;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.atomic.AtomicReference;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.quota.ClientQuotaAlteration;
import org.apache.kafka.common.quota.ClientQuotaEntity;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/** Topics that an experiment fills. Not thread-safe. */
final class Topics implements AutoCloseable {
  private final Admin admin;
  private final KafkaProducer<byte[], byte[]> producer;
  private final AtomicReference<Exception> failure = new AtomicReference<>();

  Topics(KafkaEndpoint kafka) {
    admin = Admin.create(KafkaClients.settings(kafka));
    // Disables idempotence: an idempotent producer got stuck on new topics, since batches sent
    // after a rejected one stayed out of order permanently (OUT_OF_ORDER_SEQUENCE_NUMBER until the
    // timeout).
    Map<String, Object> settings = KafkaClients.settings(kafka);
    settings.put("enable.idempotence", false);
    settings.put("max.in.flight.requests.per.connection", 1);
    settings.put("batch.size", 1 << 18);
    settings.put("linger.ms", 5);
    settings.put("max.request.size", 4 << 20);
    producer = new KafkaProducer<>(settings, new ByteArraySerializer(), new ByteArraySerializer());
  }

  void create(String topic, int partitions, Map<String, String> settings)
      throws InterruptedException, ExecutionException {
    NewTopic madeTopic = new NewTopic(topic, partitions, (short) 1).configs(settings);
    admin.createTopics(List.of(madeTopic)).all().get();
  }

  void delete(String topic) throws InterruptedException, ExecutionException {
    admin.deleteTopics(List.of(topic)).all().get();
  }

  /** Limits each consumer to this many bytes per second. */
  void holdConsumers(double bytesPerSecond) throws InterruptedException, ExecutionException {
    // The quota of the default client applies to all clients without their own quota.
    Map<String, String> anyone = new HashMap<>();
    anyone.put(ClientQuotaEntity.CLIENT_ID, null);
    var quota = new ClientQuotaAlteration.Op("consumer_byte_rate", Math.rint(bytesPerSecond));
    admin
        .alterClientQuotas(
            List.of(new ClientQuotaAlteration(new ClientQuotaEntity(anyone), List.of(quota))))
        .all()
        .get();
  }

  void send(String topic, int partition, byte[] value) {
    producer.send(
        new ProducerRecord<>(topic, partition, null, value),
        (sent, fault) -> failure.compareAndSet(null, fault));
  }

  /** Returns once the broker has all records. */
  void flush() {
    producer.flush();
    if (failure.get() != null) {
      throw new IllegalStateException("the input can't be written", failure.get());
    }
  }

  @Override
  public void close() {
    producer.close();
    admin.close();
  }
}
