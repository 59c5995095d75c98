package io.tapline.flink.support;

import java.nio.file.Path;
import java.util.List;
import kafka.server.KafkaConfig;
import kafka.server.KafkaRaftServer;
import org.apache.kafka.common.utils.Time;

/** A real Kafka broker within this process: KRaft, a single node on loopback, free ports. */
public final class EmbeddedKafka implements AutoCloseable {
  private final KafkaRaftServer server;
  private final TopicClient client;

  public EmbeddedKafka(Path directory) throws Exception {
    BrokerFolder folder = new BrokerFolder(directory);
    server = new KafkaRaftServer(new KafkaConfig(folder.settings, false), Time.SYSTEM);
    server.startup();
    client = new TopicClient(folder.brokers);
  }

  public String brokers() {
    return client.brokers();
  }

  public void createTopic(String topic, int partitions) throws Exception {
    client.createTopic(topic, partitions);
  }

  public void deleteTopic(String topic) throws Exception {
    client.deleteTopic(topic);
  }

  /** Sends a record; returns once the broker has acknowledged it. */
  public void send(String topic, int partition, byte[] value) throws Exception {
    client.send(topic, partition, value);
  }

  /** Returns {@code count} values of partition 0 of a topic, once they have arrived. */
  public List<String> read(String topic, int count) throws Exception {
    return client.read(topic, count);
  }

  /** Deletes the records before an offset, as retention does. */
  public void deleteBefore(String topic, int partition, long offset) throws Exception {
    client.deleteBefore(topic, partition, offset);
  }

  @Override
  public void close() {
    client.close();
    server.shutdown();
    server.awaitShutdown();
  }
}
