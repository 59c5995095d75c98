package io.tapline.e2e;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import io.tapline.control.testbed.Collector;
import java.io.IOException;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;

/**
 * Kills the collector's monitor, its agent and the control plane with SIGKILL while link loads and
 * flow rates are measured. Results must resume, gaps must be reported, and nothing may be left
 * behind. Skipped, with the reason, on hosts that can't run a testbed.
 */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
@MakesNetworkDevices
class CollectorKilledSoak {
  private static final String AGENT = "h-2-0-1";
  private static final String LOAD =
      "PARSE link_load(link=50000000, mirror=100000000, vantage=all) FROM * TO * LIMIT 600s SAMPLE *"
          + " PROCESS (group-max: by=share, group=(switch, port), w=1s)";
  private static final String RATE =
      "PARSE flow_rate(link=50000000, mirror=100000000, vantage=all) FROM * TO * LIMIT 600s SAMPLE *"
          + " PROCESS (group-max: by=bits_per_second, group=dst_port, w=1s)";

  /** Minimum measured share of a link; the flow of 8 Mb/s uses 16 % of a link of 50 Mb/s. */
  private static final double MIN_SHARE = 0.1;

  private static final double MIN_RATE = 5e6;
  private static final String SEND =
      """
      import socket
      out = socket.create_connection(("10.2.0.2", 9000))
      out.setsockopt(socket.SOL_SOCKET, 47, 1_000_000)  # SO_MAX_PACING_RATE
      while True:
          out.send(bytes(20_000))
      """;
  private static final String RECEIVE =
      """
      import socket
      connection, _ = socket.create_server(("", 9000)).accept()
      while connection.recv(1 << 20):
          pass
      """;

  private MirroredNetwork network;

  @BeforeAll
  void start() throws Exception {
    network = MirroredNetwork.upWithCollector(Set.of(AGENT), "--mirror-mbit", "100");
  }

  @AfterAll
  void stop() throws Exception {
    if (network != null) {
      network.close();
    }
  }

  private String submit(String query) throws Exception {
    String id = network.submit(query);
    network.server().awaitState(id, "running");
    return id;
  }

  /** Waits for results of windows that begin after this call, and prints how long it took. */
  private void awaitNewResults(String since, String loads, String rates) throws Exception {
    long startNs = System.nanoTime();
    long nowNs = TimeUnit.MILLISECONDS.toNanos(System.currentTimeMillis());
    Fabric.await("loads again", () -> hasResult(loads, nowNs, MIN_SHARE));
    Fabric.await("rates again", () -> hasResult(rates, nowNs, MIN_RATE));
    System.out.printf(
        "Collector: results %.1f s after %s%n", (System.nanoTime() - startNs) / 1e9, since);
  }

  private boolean hasResult(String query, long sinceNs, double least) throws Exception {
    for (JsonNode row : network.server().rows(query)) {
      if (row.path("window_start_ns").asLong() > sinceNs && row.path("value").asDouble() > least) {
        return true;
      }
    }
    return false;
  }

  private JsonNode dropped(String query) throws Exception {
    return network.get("/queries/" + query).path("totals").path("dropped");
  }

  private long agentPid() throws IOException {
    return network.fabric.process(Collector.NAME).path("pid").asLong();
  }

  @Test
  void loadsAndRatesResumeAfterEachKill() throws Exception {
    Map<String, String> before = network.fabric.rules();
    try (Cli.Running receiver = network.fabric.start("h-2-0-0", "python3", "-c", RECEIVE)) {
      List<String> listening = network.fabric.in("h-2-0-0", "ss", "-lnt");
      Fabric.await("a receiver is ready", () -> Fabric.run(listening).stdout().contains(":9000"));
      try (Cli.Running sender = network.fabric.start("h-0-0-0", "python3", "-c", SEND)) {
        killEachProcess(before);
        assertThat(sender.process().isAlive()).isTrue();
        assertThat(receiver.process().isAlive()).isTrue();
      }
    }
  }

  private void killEachProcess(Map<String, String> before) throws Exception {
    String loads = submit(LOAD);
    String rates = submit(RATE);
    awaitNewResults("the queries run", loads, rates);

    List<Long> monitors = network.monitors(Collector.NAME);
    ProcessHandle.of(monitors.get(0)).orElseThrow().destroyForcibly();
    Fabric.await(
        "another monitor",
        () -> network.monitors(Collector.NAME).stream().anyMatch(pid -> !monitors.contains(pid)));
    awaitNewResults("another monitor has started", loads, rates);
    for (String query : List.of(loads, rates)) {
      assertThat(dropped(query).toString()).contains("monitor_re");
    }

    List<Long> ofTheAgent = network.monitors(Collector.NAME);
    network.fabric.killAndAwaitAnother(Collector.NAME);
    Fabric.await(
        "the agent's monitors have ended",
        () -> network.monitors(Collector.NAME).stream().noneMatch(ofTheAgent::contains));
    awaitNewResults("another agent has started", loads, rates);
    for (String query : List.of(loads, rates)) {
      assertThat(dropped(query).toString()).contains("\"monitor_replaced\"");
    }

    long agent = agentPid();
    network.server().process().destroyForcibly().waitFor();
    network.startServer();
    Fabric.await("nothing is mirrored", () -> network.fabric.mirroring().isEmpty());
    Fabric.await("no monitor is left", () -> network.monitors(Collector.NAME).isEmpty());
    Fabric.await(
        "the agents are up again",
        () -> network.agentsWith("state", "up").equals(Set.of(AGENT, Collector.NAME)));
    assertThat(agentPid()).isEqualTo(agent);
    String newLoads = submit(LOAD);
    String newRates = submit(RATE);
    awaitNewResults("the next control plane's queries run", newLoads, newRates);
    network.stop(newLoads);
    network.stop(newRates);
    Fabric.await("nothing is mirrored", () -> network.fabric.mirroring().isEmpty());
    Fabric.await("the rules are as before", () -> network.fabric.rules().equals(before));
    Fabric.await("no monitor is left", () -> network.monitors(Collector.NAME).isEmpty());
  }
}
