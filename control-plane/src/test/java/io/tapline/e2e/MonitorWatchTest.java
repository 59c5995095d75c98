package io.tapline.e2e;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import io.tapline.control.testing.Await;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.DatagramChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Tests a watch that runs in an interface's monitor, across a restart of the server. */
@MakesNetworkDevices
class MonitorWatchTest {
  private static final Duration TIMEOUT = Duration.ofSeconds(150);
  private static final int PORT = 9002;
  private static final String CONDITION = "burst(bytes, 10ms) > 5KB";

  @TempDir Path folder;
  private Server server;

  @AfterEach
  void stop() {
    if (server != null) {
      server.close();
      server = null;
    }
  }

  private List<JsonNode> cli(String... arguments) {
    return Cli.run(
            Stream.concat(Stream.of(arguments), Stream.of("--json", "--server", server.url()))
                .toArray(String[]::new))
        .expectSuccess()
        .json();
  }

  /**
   * Returns the watch's query; empty if the query is not running, or belongs to an earlier server.
   */
  private String runningQuery() throws Exception {
    String query = cli("watch", "list").get(0).path("query").asText();
    if (query.isEmpty()) {
      return "";
    }
    JsonNode info = Cli.parse(server.get("/api/v1/queries/" + query).body());
    return info.path("state").asText().equals("running") ? query : "";
  }

  private String awaitRunning() throws Exception {
    Await.until("its query runs", TIMEOUT, () -> !runningQuery().isEmpty());
    return runningQuery();
  }

  /** Sends bursts until there are at least this many alerts; returns all alerts. */
  private List<JsonNode> burst(String address, int alerts) throws Exception {
    Await.until(
        "an alert",
        TIMEOUT,
        () -> {
          try (DatagramChannel channel = DatagramChannel.open()) {
            for (int i = 0; i < 200; i++) {
              channel.send(ByteBuffer.wrap(new byte[100]), new InetSocketAddress(address, PORT));
            }
          }
          Thread.sleep(300);
          return cli("watch", "alerts").size() >= alerts;
        });
    return cli("watch", "alerts");
  }

  @Test
  void aBurstIsAnAlertBeforeAndAfterARestart() throws Exception {
    try (WebLink link = WebLink.open()) {
      Path inventory = folder.resolve("inventory.yaml");
      Files.writeString(inventory, "traffic: {packets_per_second: 2000000, groups: 1000}\n");
      String[] arguments = {
        "--interface",
        link.networkInterface(),
        "--watches",
        folder.resolve("w.json").toString(),
        "--inventory",
        inventory.toString()
      };
      server = Server.start(arguments);
      JsonNode addedNode =
          cli(
                  "watch",
                  "add",
                  "dst_port == " + PORT,
                  "--group-by",
                  "dst_port",
                  "--when",
                  CONDITION,
                  "--every",
                  "100ms")
              .get(0);
      assertThat(addedNode.path("run").asText()).isEqualTo("monitor");
      assertThat(addedNode.path("run_reason").asText()).contains("single packets");
      String query = awaitRunning();
      JsonNode alert = burst(link.address(), 1).get(0);
      assertThat(alert.path("watch")).isEqualTo(addedNode.path("id"));
      assertThat(alert.path("id").asText()).startsWith(query + "-");
      assertThat(alert.at("/key/dst_port").asInt()).isEqualTo(PORT);
      assertThat(alert.path("value").asLong()).isGreaterThan(5_000);
      assertThat(alert.path("window_end_ns").asLong() - alert.path("window_start_ns").asLong())
          .isEqualTo(100_000_000);
      assertThat(
              Cli.run("drill", "--alert", alert.path("id").asText(), "--server", server.url())
                  .stderr())
          .contains("this server has no MultiLog node");
      refused();
      theMonitorsTimeIsShared();
      anAlertLasts(link.address());
      stop();

      server = Server.start(arguments);
      assertThat(awaitRunning()).as("another query").isNotEqualTo(query);
      assertThat(burst(link.address(), 1).get(0).path("watch")).isEqualTo(addedNode.path("id"));
      String last = awaitRunning();
      Cli.run("watch", "remove", addedNode.path("id").asText(), "--server", server.url())
          .expectSuccess();
      server.awaitState(last, "stopped");
      assertThat(cli("watch", "list")).isEmpty();
      stop();
    }
  }

  /**
   * Tests a watch whose windows overlap. A burst is part of three of them, and the alert begins
   * with the second.
   */
  private void anAlertLasts(String address) throws Exception {
    String[] add = {
      "watch",
      "add",
      "dst_port == " + PORT,
      "--when",
      "sum(bytes) > 5KB",
      "--run",
      "monitor",
      "--every",
      "100ms",
      "--window",
      "300ms",
      "--after",
      "2",
      "--clear",
      "4KB",
      "--cooldown",
      "1ms"
    };
    JsonNode watch = cli(add).get(0);
    assertThat(watch.path("window_ns").asLong()).isEqualTo(300_000_000);
    assertThat(watch.path("after").asInt()).isEqualTo(2);
    assertThat(watch.path("clear").asText()).isEqualTo("4KB");
    List<JsonNode> alerts = new ArrayList<>();
    Await.until(
        "an alert of two windows",
        TIMEOUT,
        () -> {
          alerts.clear();
          alerts.addAll(burst(address, 1));
          alerts.removeIf(alert -> !alert.path("watch").equals(watch.path("id")));
          return alerts.size() > 1;
        });
    long firstNs = alerts.get(0).path("window_start_ns").asLong();
    assertThat(alerts.get(0).path("window_end_ns").asLong()).isEqualTo(firstNs + 300_000_000);
    assertThat(alerts.get(1).path("window_start_ns").asLong()).isEqualTo(firstNs + 100_000_000);
    assertThat(firstNs)
        .as("the previous window met the condition as well")
        .isGreaterThanOrEqualTo(watch.path("counting_since_ns").asLong() + 100_000_000);
    Cli.run("watch", "remove", watch.path("id").asText(), "--server", server.url()).expectSuccess();
  }

  private void refused() {
    String url = server.url();
    assertThat(
            Cli.run(
                    "watch",
                    "add",
                    "ttl < 5",
                    "--run",
                    "monitor",
                    "--when",
                    "count > 5",
                    "--server",
                    url)
                .stderr())
        .contains("a monitor can't run the watch", "run=node");
    assertThat(
            Cli.run("watch", "add", "--run", "monitor", "--when", "P99 > 5", "--server", url)
                .stderr())
        .contains("run=monitor needs a condition on the packets of a window");
    assertThat(cli("watch", "list")).as("nothing was added").hasSize(1);
  }

  /** Tests that the monitor's time is shared: it has enough for one of two expensive watches. */
  private void theMonitorsTimeIsShared() {
    String[] add = {"watch", "add", "--when", "p99(bytes) > 1MB", "--every"};
    String first =
        cli(Stream.concat(Stream.of(add), Stream.of("200ms")).toArray(String[]::new))
            .get(0)
            .path("id")
            .asText();
    Cli.Result refused =
        Cli.run(
            Stream.concat(Stream.of(add), Stream.of("300ms", "--server", server.url()))
                .toArray(String[]::new));
    assertThat(refused.stderr())
        .contains("has no time for these triggers", "Triggers of other queries take");
    assertThat(cli("watch", "list")).as("one of the two was added").hasSize(2);
    Cli.run("watch", "remove", first, "--server", server.url()).expectSuccess();
  }
}
