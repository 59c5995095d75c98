package io.tapline.flink.support;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.admin.RecordsToDelete;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.quota.ClientQuotaAlteration;
import org.apache.kafka.common.quota.ClientQuotaEntity;
import org.apache.kafka.common.serialization.ByteArraySerializer;
import org.apache.kafka.common.serialization.StringDeserializer;

/** A Kafka client for tests, which manages topics and quotas, and sends and reads records. */
public final class TopicClient implements AutoCloseable {
  private final String brokers;
  private final Admin admin;
  private final KafkaProducer<byte[], byte[]> producer;

  TopicClient(String brokers) {
    this.brokers = brokers;
    admin = Admin.create(Map.of("bootstrap.servers", brokers));
    producer =
        new KafkaProducer<>(
            Map.of("bootstrap.servers", brokers, "linger.ms", 0),
            new ByteArraySerializer(),
            new ByteArraySerializer());
  }

  public String brokers() {
    return brokers;
  }

  boolean answers() throws InterruptedException {
    try {
      return !admin.describeCluster().nodes().get(2, TimeUnit.SECONDS).isEmpty();
    } catch (ExecutionException | TimeoutException notYet) {
      return false;
    }
  }

  public void createTopic(String topic, int partitions) throws Exception {
    admin.createTopics(List.of(new NewTopic(topic, partitions, (short) 1))).all().get();
  }

  public void deleteTopic(String topic) throws Exception {
    admin.deleteTopics(List.of(topic)).all().get();
  }

  public Set<String> topics() throws Exception {
    return admin.listTopics().names().get();
  }

  /** Deletes the records before an offset, as retention does. */
  public void deleteBefore(String topic, int partition, long offset) throws Exception {
    admin
        .deleteRecords(
            Map.of(new TopicPartition(topic, partition), RecordsToDelete.beforeOffset(offset)))
        .all()
        .get();
  }

  /** Limits the total rate of all consumers with this client ID. */
  public void limitConsumer(String clientId, long bytesPerSecond) throws Exception {
    var entity = new ClientQuotaEntity(Map.of(ClientQuotaEntity.CLIENT_ID, clientId));
    var rate = new ClientQuotaAlteration.Op("consumer_byte_rate", (double) bytesPerSecond);
    admin.alterClientQuotas(List.of(new ClientQuotaAlteration(entity, List.of(rate)))).all().get();
  }

  /**
   * Sends a record; returns once the broker has acknowledged it. Retries for two minutes during
   * outages.
   */
  public void send(String topic, int partition, byte[] value) throws Exception {
    producer.send(new ProducerRecord<>(topic, partition, null, value)).get();
  }

  /** Waits until partition 0 of a topic has {@code count} records or more. Returns their values. */
  public List<String> read(String topic, int count) throws Exception {
    List<String> values = new ArrayList<>();
    var deserializer = new StringDeserializer();
    try (var consumer =
        new KafkaConsumer<>(Map.of("bootstrap.servers", brokers), deserializer, deserializer)) {
      TopicPartition partition = new TopicPartition(topic, 0);
      consumer.assign(List.of(partition));
      consumer.seekToBeginning(List.of(partition));
      Deadline.await(
          count + " records of " + topic,
          () -> {
            consumer.poll(Duration.ofMillis(100)).forEach(record -> values.add(record.value()));
            return values.size() >= count;
          });
    }
    return values;
  }

  @Override
  public void close() {
    producer.close(Duration.ofSeconds(1));
    admin.close(Duration.ofSeconds(1));
  }
}
