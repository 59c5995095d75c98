package io.tapline.e2e;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import io.tapline.control.drill.NodeProcess;
import io.tapline.control.testing.Await;
import java.io.OutputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Kills servers that store their watches in a file, while a node evaluates the watches. */
class WatchesOutliveServerTest {
  private static final Duration TIMEOUT = Duration.ofSeconds(60);

  @TempDir Path folder;
  private Path pipe;
  private NodeProcess node;
  private Server server;
  private int port;

  @BeforeEach
  void start() throws Exception {
    pipe = folder.resolve("packets");
    assertThat(new ProcessBuilder("mkfifo", pipe.toString()).start().waitFor()).isZero();
    node = NodeProcess.launch(folder, "h1", pipe);
    port = Server.freePort();
    startServer();
  }

  @AfterEach
  void stop() throws Exception {
    server.close();
    node.kill();
  }

  private void startServer() throws Exception {
    server =
        Server.startAt(
            port,
            "--multilog",
            "h1=" + node.address().target(),
            "--watches",
            folder.resolve("watches.json").toString());
  }

  private void killServer() throws Exception {
    server.process().destroyForcibly().waitFor();
  }

  private List<JsonNode> cli(String... arguments) {
    String[] all = new String[arguments.length + 3];
    System.arraycopy(arguments, 0, all, 0, arguments.length);
    all[arguments.length] = "--json";
    all[arguments.length + 1] = "--server";
    all[arguments.length + 2] = server.url();
    return Cli.run(all).expectSuccess().json();
  }

  private String add() {
    return cli("watch", "add", "dst_port == 80", "--group-by", "src_ip", "--when", "COUNT > 5")
        .get(0)
        .path("id")
        .asText();
  }

  private JsonNode evaluation() {
    return cli("watch", "list").get(0).path("evaluation").path(0);
  }

  private void awaitEvaluation() throws Exception {
    Await.until("the node evaluates it", TIMEOUT, () -> evaluation().path("evaluates").asBoolean());
  }

  private static List<String> ids(List<JsonNode> alerts) {
    return alerts.stream().map(alert -> alert.path("id").asText()).toList();
  }

  /** Returns the alerts once no further ones arrive. */
  private List<JsonNode> alerts() throws Exception {
    Await.until("alerts arrive", TIMEOUT, () -> !cli("watch", "alerts").isEmpty());
    List<JsonNode> previousAlerts;
    List<JsonNode> now = List.of();
    do {
      previousAlerts = now;
      Thread.sleep(1_000);
      now = cli("watch", "alerts");
    } while (now.size() != previousAlerts.size());
    return now;
  }

  @Test
  void watchesOfAKilledServerContinue() throws Exception {
    String watch = add();
    awaitEvaluation();
    killServer();
    // The packets raise these alerts while no server is running.
    try (OutputStream packets = Files.newOutputStream(pipe)) {
      packets.write(Files.readAllBytes(NodeProcess.capture("http_small.pcap.zst")));
    }
    startServer();
    List<JsonNode> first = alerts();
    assertThat(first).allMatch(alert -> alert.path("watch").asText().equals(watch));
    assertThat(ids(first)).doesNotHaveDuplicates();
    assertThat(evaluation().path("gaps")).isEmpty();
    assertThat(evaluation().path("missed_alerts").asLong()).isZero();
    killServer();
    startServer();
    List<JsonNode> repeatedNodes = alerts();
    assertThat(ids(repeatedNodes)).as("the same alerts").isEqualTo(ids(first));
    assertThat(repeatedNodes).allMatch(alert -> alert.path("replayed").asBoolean());
    assertThat(repeatedNodes.get(0).path("number").asLong())
        .isGreaterThan(first.get(first.size() - 1).path("number").asLong());
  }

  @Test
  void aNodeThatEndsWithItsServerLeavesAGap() throws Exception {
    String watch = add();
    awaitEvaluation();
    killServer();
    node.kill();
    startServer();
    assertThat(evaluation().path("evaluates").asBoolean()).isFalse();
    assertThat(evaluation().path("unknown_since_ns").asLong()).isPositive();
    node = NodeProcess.launch(folder, "h1", pipe);
    awaitEvaluation();
    JsonNode gap = evaluation().path("gaps").path(0);
    assertThat(gap.path("reason").asText()).isEqualTo("the node was restarted");
    assertThat(gap.path("to_ns").asLong()).isGreaterThan(gap.path("from_ns").asLong());
    assertThat(Cli.run("watch", "list", "--server", server.url()).expectSuccess().stdout())
        .contains(watch + " was not evaluated on h1 for ", ": the node was restarted");
    Cli.run("watch", "remove", watch, "--server", server.url()).expectSuccess();
    killServer();
    startServer();
    assertThat(cli("watch", "list")).isEmpty();
  }
}
