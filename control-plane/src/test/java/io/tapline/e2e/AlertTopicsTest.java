package io.tapline.e2e;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.io.TempDir;

/**
 * Tests alert topics on an external Kafka broker: missing, existing, and deleted while a query
 * runs.
 */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
@MakesNetworkDevices
class AlertTopicsTest {
  private static final Path CAPTURE = Path.of("testbed/three_tier/three_tier.pcap.zst");
  private static final String QUERY =
      "PARSE http_get FROM * TO *:8080 LIMIT 1h SAMPLE * PROCESS (trigger: group=url, topic=%s)";
  private static final Duration TIMEOUT = Duration.ofSeconds(60);

  /**
   * Maximum time that a server may take to stop. By default, a Kafka producer waits for a missing
   * topic for a minute or more.
   */
  private static final Duration STOP = Duration.ofSeconds(25);

  @TempDir static Path folder;
  private KafkaCluster kafka;
  private Admin admin;
  private Path inventory;
  private String capture;
  private WebLink link;
  private Server server;

  @BeforeAll
  void start() throws Exception {
    kafka = new KafkaCluster(folder, "127.0.0.1", List.of("a", "b"));
    admin = Admin.create(Map.of("bootstrap.servers", kafka.brokers()));
    capture = Cli.root().resolve(CAPTURE).toString();
    inventory = folder.resolve("inventory.yaml");
    Files.writeString(inventory, "queries:\n  paging: '" + QUERY.formatted("alerts.none") + "'\n");
    link = WebLink.open();
    server =
        Server.start(
            "--interface",
            link.networkInterface(),
            "--inventory",
            inventory.toString(),
            "--brokers",
            kafka.brokers());
  }

  @AfterAll
  void stop() throws Exception {
    if (server != null) {
      server.close();
    }
    if (link != null) {
      link.close();
    }
    admin.close();
    kafka.close();
  }

  private void create(String topic) throws Exception {
    admin.createTopics(List.of(new NewTopic(topic, Optional.of(1), Optional.empty()))).all().get();
  }

  private long written(String topic) {
    var text = new StringDeserializer();
    try (var consumer =
        new KafkaConsumer<>(Map.of("bootstrap.servers", kafka.brokers()), text, text)) {
      TopicPartition partition = new TopicPartition(topic, 0);
      return consumer.endOffsets(List.of(partition)).get(partition);
    }
  }

  @Test
  void aMissingTopicIsAnErrorOfTheSubmission() {
    String query = QUERY.formatted("alerts.none");
    String inline = "there is no topic 'alerts.none'";
    List<List<String>> ways =
        List.of(
            List.of("query", "submit", query, "--server", server.url()),
            List.of("query", "submit", "USE paging", "--server", server.url()),
            List.of("run", query, "--pcap", capture, "--brokers", kafka.brokers()),
            List.of(
                "run",
                "USE paging",
                "--pcap",
                capture,
                "--inventory",
                inventory.toString(),
                "--brokers",
                kafka.brokers()));
    for (List<String> way : ways) {
      Cli.Result result = Cli.run(way.toArray(String[]::new));
      assertThat(result.exitCode()).as(way.toString()).isEqualTo(2);
      assertThat(result.stderr())
          .contains(inline, "kafka-topics.sh --create --topic alerts.none")
          .doesNotContain("\tat ");
    }
    Cli.Result foreign =
        Cli.run("query", "submit", QUERY.formatted("tapline.tuples.x"), "--server", server.url());
    assertThat(foreign.exitCode()).isEqualTo(2);
    assertThat(foreign.stderr()).contains("alerts may not be sent to topic 'tapline.tuples.x'");
  }

  @Test
  void aDeletedTopicEndsTheQuery() throws Exception {
    create("alerts.first");
    create("alerts.second");
    String first = server.submit(QUERY.formatted("alerts.first"));
    String second = server.submit(QUERY.formatted("alerts.second"));
    Fabric.await(
        "alerts arrive", () -> written("alerts.first") > 0 && written("alerts.second") > 0);
    delete("alerts.first");
    Instant deleted = Instant.now();
    Fabric.await("the first query fails", () -> show(first).contains("\"state\":\"failed\""));
    assertThat(Duration.between(deleted, Instant.now())).isLessThan(TIMEOUT);
    assertThat(show(first))
        .contains("cannot send alerts to topic alerts.first: it no longer exists");
    assertThat(show(second)).contains("\"state\":\"running\"");
    Cli.run("query", "stop", second, "--server", server.url()).expectSuccess();
  }

  @Test
  void aDeletedTopicDoesNotDelayTheServer() throws Exception {
    create("alerts.last");
    Instant begin;
    try (Server stopped =
        Server.start("--interface", link.networkInterface(), "--brokers", kafka.brokers())) {
      stopped.submit(QUERY.formatted("alerts.last"));
      Fabric.await("alerts arrive", () -> written("alerts.last") > 0);
      delete("alerts.last");
      begin = Instant.now();
    }
    assertThat(Duration.between(begin, Instant.now())).isLessThan(STOP);
  }

  private void delete(String topic) throws Exception {
    admin.deleteTopics(List.of(topic)).all().get();
  }

  private String show(String query) throws Exception {
    return server.get("/api/v1/queries/" + query).body();
  }
}
