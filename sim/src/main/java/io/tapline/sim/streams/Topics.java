package io.tapline.sim.streams;

import java.util.List;
import java.util.Map;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.atomic.AtomicReference;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/** Topics with what an experiment puts into them. Not thread-safe. */
final class Topics implements AutoCloseable {
  private final Admin admin;
  private final KafkaProducer<byte[], byte[]> producer;
  private final AtomicReference<Exception> failure = new AtomicReference<>();

  Topics(String brokers) {
    admin = Admin.create(Map.of("bootstrap.servers", brokers));
    // An idempotent producer stuck at new topics: what it had sent ahead of a refused batch was out
    // of order for good (OUT_OF_ORDER_SEQUENCE_NUMBER until the timeout).
    producer =
        new KafkaProducer<>(
            Map.of(
                "enable.idempotence",
                false,
                "max.in.flight.requests.per.connection",
                1,
                "bootstrap.servers",
                brokers,
                "batch.size",
                1 << 18,
                "linger.ms",
                5,
                "max.request.size",
                4 << 20),
            new ByteArraySerializer(),
            new ByteArraySerializer());
  }

  void create(String topic, int partitions, Map<String, String> settings)
      throws InterruptedException, ExecutionException {
    NewTopic made = new NewTopic(topic, partitions, (short) 1).configs(settings);
    admin.createTopics(List.of(made)).all().get();
  }

  void delete(String topic) throws InterruptedException, ExecutionException {
    admin.deleteTopics(List.of(topic)).all().get();
  }

  void send(String topic, int partition, byte[] value) {
    producer.send(
        new ProducerRecord<>(topic, partition, null, value),
        (sent, fault) -> failure.compareAndSet(null, fault));
  }

  /** Returns when the broker has all of it. */
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
