package io.tapline.e2e;

import java.io.OutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Collectors;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.common.Node;
import org.apache.kafka.common.TopicPartitionInfo;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.metadata.storage.Formatter;
import org.apache.kafka.server.common.MetadataVersion;

/**
 * A Kafka cluster of separate processes. Each broker reports, as its {@code broker.rack}, that it
 * runs on a host of the network.
 */
final class KafkaCluster implements AutoCloseable {
  private static final String CLUSTER = Uuid.randomUuid().toString();

  private final List<Process> processes = new ArrayList<>();
  private final List<String> addresses = new ArrayList<>();
  private final Path folder;

  /**
   * Starts brokers 1, 2…; the first is also the controller. Topics have two replicas.
   *
   * @param address address of this host at which other hosts reach the brokers
   */
  KafkaCluster(Path folder, String address, List<String> hosts) throws Exception {
    this.folder = folder;
    String controller = "127.0.0.1:" + Server.freePort();
    for (int i = 0; i < hosts.size(); i++) {
      addresses.add(address + ":" + Server.freePort());
      start(i, hosts.get(i), controller);
    }
    Fabric.await("brokers are up", () -> racks().size() == hosts.size());
  }

  private void start(int index, String host, String controller) throws Exception {
    Path logs = folder.resolve("broker-" + (index + 1));
    Map<String, String> settings = new TreeMap<>();
    String own = "PLAINTEXT://" + addresses.get(index);
    settings.put("process.roles", index == 0 ? "broker,controller" : "broker");
    settings.put("node.id", Integer.toString(index + 1));
    settings.put("broker.rack", host);
    settings.put("controller.quorum.voters", "1@" + controller);
    settings.put("controller.listener.names", "CONTROLLER");
    settings.put("listeners", index == 0 ? own + ",CONTROLLER://" + controller : own);
    settings.put("advertised.listeners", own);
    settings.put("listener.security.protocol.map", "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT");
    settings.put("log.dirs", logs.toString());
    settings.put("auto.create.topics.enable", "false");
    settings.put("default.replication.factor", "2");
    settings.put("offsets.topic.replication.factor", "1");
    new Formatter()
        .setClusterId(CLUSTER)
        .setNodeId(index + 1)
        .setControllerListenerName("CONTROLLER")
        .setMetadataLogDirectory(logs.toString())
        .addDirectory(logs.toString())
        .setReleaseVersion(MetadataVersion.LATEST_PRODUCTION)
        .setPrintStream(
            new PrintStream(OutputStream.nullOutputStream(), false, StandardCharsets.UTF_8))
        .run();
    Path file = folder.resolve("broker-%d.properties".formatted(index + 1));
    Files.writeString(
        file,
        settings.entrySet().stream()
            .map(entry -> entry.getKey() + "=" + entry.getValue() + "\n")
            .collect(Collectors.joining()));
    List<String> command = List.of("java", "-Xmx256m", "-XX:TieredStopAtLevel=1", "-cp");
    List<String> all = new ArrayList<>(command);
    all.addAll(List.of(Cli.root() + "/build/java/lib/*", "kafka.Kafka", file.toString()));
    processes.add(
        new ProcessBuilder(all)
            .redirectErrorStream(true)
            .redirectOutput(folder.resolve("broker-%d.log".formatted(index + 1)).toFile())
            .start());
  }

  String brokers() {
    return String.join(",", addresses);
  }

  List<Process> processes() {
    return processes;
  }

  private Admin admin() {
    return Admin.create(Map.of("bootstrap.servers", brokers()));
  }

  private Map<Integer, String> racks() throws Exception {
    try (Admin admin = admin()) {
      return admin.describeCluster().nodes().get().stream()
          .collect(Collectors.toMap(Node::id, Node::rack));
    }
  }

  /** Returns, for each partition of a topic, the hosts of its replicas, the leader's host first. */
  List<List<String>> replicas(String topic) throws Exception {
    Map<Integer, String> racks = racks();
    try (Admin admin = admin()) {
      List<List<String>> hosts = new ArrayList<>();
      var described = admin.describeTopics(List.of(topic)).allTopicNames().get().get(topic);
      for (TopicPartitionInfo partition : described.partitions()) {
        List<String> own = new ArrayList<>(List.of(racks.get(partition.leader().id())));
        partition.replicas().stream()
            .filter(replica -> replica.id() != partition.leader().id())
            .forEach(replica -> own.add(racks.get(replica.id())));
        hosts.add(own);
      }
      return hosts;
    }
  }

  @Override
  public void close() throws InterruptedException {
    for (Process process : processes) {
      process.destroyForcibly().waitFor();
    }
  }
}
