package io.tapline.flink.support;

import java.io.OutputStream;
import java.io.PrintStream;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import kafka.server.KafkaConfig;
import kafka.server.KafkaRaftServer;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.serialization.ByteArraySerializer;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.utils.Time;
import org.apache.kafka.metadata.storage.Formatter;

/** A real broker in this process: KRaft, one node, loopback, free ports. */
public final class EmbeddedKafka implements AutoCloseable {
  private final KafkaRaftServer server;
  private final Admin admin;
  private final KafkaProducer<byte[], byte[]> producer;
  private final String brokers;

  public EmbeddedKafka(Path directory) throws Exception {
    int port = FreePort.choose();
    int controller = FreePort.choose();
    brokers = "127.0.0.1:" + port;
    Map<String, String> settings =
        Map.ofEntries(
            Map.entry("process.roles", "broker,controller"),
            Map.entry("node.id", "1"),
            Map.entry("controller.quorum.voters", "1@127.0.0.1:" + controller),
            Map.entry(
                "listeners", "PLAINTEXT://" + brokers + ",CONTROLLER://127.0.0.1:" + controller),
            Map.entry("advertised.listeners", "PLAINTEXT://" + brokers),
            Map.entry("listener.security.protocol.map", "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT"),
            Map.entry("controller.listener.names", "CONTROLLER"),
            Map.entry("log.dirs", directory.toString()),
            Map.entry("auto.create.topics.enable", "false"),
            Map.entry("offsets.topic.replication.factor", "1"),
            Map.entry("transaction.state.log.replication.factor", "1"),
            Map.entry("transaction.state.log.min.isr", "1"));
    new Formatter()
        .setPrintStream(new PrintStream(OutputStream.nullOutputStream()))
        .setNodeId(1)
        .setClusterId(Uuid.randomUuid().toString())
        .setDirectories(List.of(directory.toString()))
        .setControllerListenerName("CONTROLLER")
        .setMetadataLogDirectory(directory.toString())
        .run();
    server = new KafkaRaftServer(new KafkaConfig(settings, false), Time.SYSTEM);
    server.startup();
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

  public void createTopic(String topic, int partitions) throws Exception {
    admin.createTopics(List.of(new NewTopic(topic, partitions, (short) 1))).all().get();
  }

  /** Returns when the broker has it. */
  public void send(String topic, int partition, byte[] value) throws Exception {
    producer.send(new ProducerRecord<>(topic, partition, null, value)).get();
  }

  /** So many values of partition 0 of a topic, once they are there. */
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
    producer.close();
    admin.close();
    server.shutdown();
    server.awaitShutdown();
  }
}
