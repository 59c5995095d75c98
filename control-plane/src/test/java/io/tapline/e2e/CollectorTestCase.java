package io.tapline.e2e;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import io.tapline.control.testbed.Collector;
import io.tapline.control.testbed.FatTreePlan;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import org.junit.jupiter.api.AfterAll;

/**
 * Compares link loads with the switches' own counters. The loads are computed from the copies that
 * switches send to a collector, through ports that are too slow for all copies.
 */
abstract class CollectorTestCase {
  static final String AGENT = "h-2-0-1";
  static final int MIRROR_MBIT = 10;
  static final double LINK = 50e6;

  /** Length of a run in seconds; `make soak` measures for ten minutes. */
  static final int SECONDS =
      Integer.parseInt(System.getenv().getOrDefault("TAPLINE_LINK_SECONDS", "20"));

  static final long FLOW_BYTES_PER_SECOND = 1_000_000;

  /**
   * Minimum number of bytes sent by a port whose loads are compared; other ports carry only ARP and
   * the controller's packets.
   */
  static final double MIN_BYTES = 500_000;

  /**
   * Maximum median delay of copies. A full queue delays a copy by 6.4 ms; the rest allows for a
   * busy machine.
   */
  static final double MAX_DELAY_MS = 25;

  /** Reasons for which link_load does not know the port of a packet, such as a broadcast. */
  private static final Set<String> NO_PORT =
      Set.of(
          "route_unknown_flows",
          "route_ambiguous_flows",
          "route_changing_flows",
          "switch_unknown_flows");

  static final String LOAD =
      "PARSE link_load(link=50000000, mirror=10000000, mirror_queue=8ms, vantage=%s) FROM * TO * "
          + "LIMIT %ds SAMPLE * PROCESS (group-max: by=%s, group=(switch, port), w=1s)";
  static final String SEND =
      """
      import socket, sys, time
      to, rate, seconds = sys.argv[1], int(sys.argv[2]), float(sys.argv[3])
      out = socket.create_connection((to, 9000))
      out.setsockopt(socket.SOL_SOCKET, 47, rate)  # SO_MAX_PACING_RATE
      # A port's first interval begins with its first packet: here, with those that open the connection.
      time.sleep(1.5)
      end = time.monotonic() + seconds
      while time.monotonic() < end:
          out.send(bytes(20_000))
      out.close()
      """;
  static final String RECEIVE =
      """
      import socket
      into = socket.create_server(("", 9000))
      into.settimeout(60)
      connection, _ = into.accept()
      while connection.recv(1 << 20):
          pass
      """;

  /**
   * Sender, receiver and the receiver's address of each flow. The first two senders share a switch.
   */
  static final List<List<String>> FLOWS =
      List.of(
          List.of("h-0-0-0", "h-2-0-0", "10.2.0.2"),
          List.of("h-0-0-1", "h-3-1-0", "10.3.1.2"),
          List.of("h-1-1-0", "h-0-1-0", "10.0.1.2"));

  MirroredNetwork network;

  @AfterAll
  void stop() throws Exception {
    if (network != null) {
      network.close();
    }
  }

  String submit(String query) throws Exception {
    String id = network.submit(query);
    network.server().awaitState(id, "running");
    return id;
  }

  private void send() throws Exception {
    List<Cli.Running> receivers = new ArrayList<>();
    List<Cli.Running> senders = new ArrayList<>();
    for (List<String> flow : FLOWS) {
      receivers.add(network.fabric.start(flow.get(1), "python3", "-c", RECEIVE));
      List<String> listening = network.fabric.in(flow.get(1), "ss", "-lnt");
      Fabric.await("a receiver is ready", () -> Fabric.run(listening).stdout().contains(":9000"));
    }
    String[] rate = {"" + FLOW_BYTES_PER_SECOND, "" + SECONDS};
    for (List<String> flow : FLOWS) {
      senders.add(
          network.fabric.start(flow.get(0), "python3", "-c", SEND, flow.get(2), rate[0], rate[1]));
    }
    for (Cli.Running running : senders) {
      running.await(SECONDS + 60).expectSuccess();
      running.close();
    }
    for (Cli.Running running : receivers) {
      running.await(SECONDS + 60).expectSuccess();
      running.close();
    }
  }

  /** Returns the number of bytes that each switch port has sent, by "switch:port". */
  private Map<String, Long> sent() throws IOException {
    Map<String, Long> sent = new TreeMap<>();
    FatTreePlan plan =
        new FatTreePlan(network.fabric.name, 4, 0)
            .with(new Collector(MIRROR_MBIT, Collector.QUEUE_US));
    for (FatTreePlan.Switch sw : plan.switches()) {
      for (int port = 0; port < sw.ports().size(); port++) {
        Path counter = Path.of("/sys/class/net", sw.ports().get(port), "statistics", "tx_bytes");
        sent.put(sw.id() + ":" + (port + 1), Long.valueOf(Files.readString(counter).strip()));
      }
    }
    return sent;
  }

  /**
   * Returns the number of bytes by port, computed from a query's link shares in windows of one
   * second.
   */
  Map<String, Double> bytes(String query) throws Exception {
    Map<String, Double> bytes = new TreeMap<>();
    for (JsonNode row : network.server().rows(query)) {
      JsonNode key = row.path("key");
      if (!key.hasNonNull("port")) {
        // Either the tap has lost copies and captured none since, so the load of its switch is
        // unknown, not zero; or the port of some packets can't be inferred, and their reason is
        // counted.
        assertThat(row.hasNonNull("value") && portsAreKnown(row))
            .as("%s has a load", row)
            .isFalse();
        continue;
      }
      String port = key.path("switch").asText() + ":" + key.path("port").asText();
      bytes.merge(port, row.path("value").asDouble() * LINK / 8, Double::sum);
    }
    return bytes;
  }

  private static boolean portsAreKnown(JsonNode row) {
    JsonNode dropped = row.path("completeness").path("dropped");
    return NO_PORT.stream().noneMatch(dropped::has);
  }

  void awaitRest(String query) throws Exception {
    double seen = -1;
    int same = 0;
    for (int second = 0; second < 90 && same < 6; second++) {
      double now = bytes(query).values().stream().mapToDouble(Double::doubleValue).sum();
      same = Math.abs(now - seen) < MIN_BYTES / 10 ? same + 1 : 0;
      seen = now;
      Thread.sleep(1000);
    }
  }

  /**
   * The results of a run by port: bytes that switches sent, loads that the queries report with
   * their bounds, and delays of copies.
   */
  record Loads(
      Map<String, Long> sent,
      Map<String, Double> load,
      Map<String, Double> low,
      Map<String, Double> high,
      JsonNode delays) {
    /** Compares loads with bytes sent on these ports, and prints the errors. */
    void agree(String vantage, Set<String> ports) {
      System.out.printf(
          "Links, vantage=%s: bytes sent, error of the load, bounds relative to them, %%; median and "
              + "99th percentile of the copies' delays, ms%n",
          vantage);
      for (String port : ports) {
        double sentBytes = sent.get(port);
        System.out.printf(
            "%-20s %,14.0f %6.2f %7.2f to %7.2f   %6.2f %6.2f%n",
            port,
            sentBytes,
            100 * (load.getOrDefault(port, 0.0) / sentBytes - 1),
            100 * (low.getOrDefault(port, 0.0) / sentBytes - 1),
            100 * (high.getOrDefault(port, 0.0) / sentBytes - 1),
            delays.path(port).path("median_ms").asDouble(Double.NaN),
            delays.path(port).path("p99_ms").asDouble(Double.NaN));
      }
      for (String port : ports) {
        long truth = sent.get(port);
        String which = "%s: %d, %s".formatted(port, truth, this);
        assertThat(load.getOrDefault(port, 0.0)).as(which).isBetween(0.85 * truth, 1.15 * truth);
        assertThat(low.get(port)).as(which).isLessThan(1.02 * truth);
        assertThat(high.get(port)).as(which).isGreaterThan(0.98 * truth);
      }
      // Ports that carry only acknowledgements have no delays.
      assertThat(delays.isEmpty()).as("delays of copies").isFalse();
      for (JsonNode delay : delays) {
        assertThat(delay.path("median_ms").asDouble())
            .as("%s", delays)
            .isBetween(-1.0, MAX_DELAY_MS);
      }
    }

    Set<String> busy() {
      Set<String> ports = new TreeSet<>();
      sent.forEach((port, bytes) -> ports.addAll(bytes > MIN_BYTES ? Set.of(port) : Set.of()));
      return ports;
    }
  }

  Loads measure(String vantage, Runnable whileRunning) throws Exception {
    List<String> queries = new ArrayList<>();
    for (String figure : List.of("share", "low_share", "high_share")) {
      queries.add(submit(LOAD.formatted(vantage, SECONDS + 300, figure)));
    }
    Map<String, Long> before = sent();
    JsonNode delays;
    try (CopyDelays capture = CopyDelays.capture(network.fabric.plan())) {
      send();
      delays = capture.finish();
    }
    awaitRest(queries.get(0));
    Map<String, Long> sent = new TreeMap<>();
    sent().forEach((port, now) -> sent.put(port, now - before.get(port)));
    whileRunning.run();
    Loads loads =
        new Loads(
            sent, bytes(queries.get(0)), bytes(queries.get(1)), bytes(queries.get(2)), delays);
    for (String query : queries) {
      network.stop(query);
    }
    return loads;
  }

  boolean isCable(String port) {
    int number = Integer.parseInt(port.substring(port.indexOf(':') + 1));
    return number >= 1 && number <= 4;
  }
}
