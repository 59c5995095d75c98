package io.tapline.e2e;

import static io.tapline.e2e.MirroredNetwork.H1;
import static io.tapline.e2e.MirroredNetwork.H1_ADDRESS;
import static io.tapline.e2e.MirroredNetwork.H2_ADDRESS;
import static io.tapline.e2e.MirroredNetwork.H3_ADDRESS;
import static io.tapline.e2e.MirroredNetwork.WATCHERS;
import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;

/**
 * Tests queries over real switches, with a server that is the controller of a testbed, and with
 * agents, web servers and clients on the testbed's hosts. Skipped, with the reason, on hosts that
 * can't run a testbed.
 */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
@MakesNetworkDevices
class MirroringTest {
  private static final int EACH = 40;

  /**
   * Number of consecutive equal readings after which counters are considered final; they span more
   * than a switch's update interval.
   */
  private static final int MANY_TIMES = 25;

  private MirroredNetwork network;

  @BeforeAll
  void start() throws Exception {
    network = MirroredNetwork.up();
  }

  @AfterAll
  void stop() throws Exception {
    if (network != null) {
      network.close();
    }
  }

  @AfterEach
  void stopQueries() throws Exception {
    for (JsonNode queryJson : network.get("/queries").path("queries")) {
      if (Set.of("submitted", "starting", "running").contains(queryJson.path("state").asText())) {
        network.stop(queryJson.path("id").asText());
      }
    }
  }

  @Test
  void aQueryMirrorsCountsAllRequestsAndLeavesNothingBehind() throws Exception {
    Map<String, String> previousSwitches = network.fabric.switches();
    Requests steady = network.requests("h-2-0-0", H1_ADDRESS, 80, "steady", Requests.UNLIMITED);
    String both = "%s:80, %s:8080".formatted(H1_ADDRESS, H2_ADDRESS);
    String query = network.submit(OverlappingQueries.COUNT.formatted("*", both));
    network.server().awaitState(query, "running");

    assertThat(network.fabric.mirroring().keySet()).containsExactly("e00", "e10");
    Set<String> placed = new TreeSet<>();
    JsonNode monitors = network.get("/queries/" + query).path("plan").path("monitors");
    monitors.forEach(monitor -> placed.add(monitor.path("host").asText()));
    assertThat(placed).hasSize(2).isSubsetOf(WATCHERS);
    assertThat(network.agentsWith("queries", query)).isEqualTo(placed);
    Fabric.await("no monitor on another host", () -> network.hostsWithMonitors().equals(placed));

    long firstWindowMs = awaitFirstWindow(query);
    Set<String> sent = sendFromEverywhere();
    Fabric.await("all are counted", () -> network.counted(query).keySet().containsAll(sent));
    steady.close();
    network.stop(query);

    Map<String, Long> counts = network.counted(query);
    assertThat(counts.values()).as("requests, each counted once").containsOnly(1L);
    assertThat(counts.keySet())
        .containsAll(sent)
        .allMatch(url -> url.startsWith("/steady/") || sent.contains(url));
    assertThat(state(query).at("/totals/dropped").toString())
        .as("no false loss is reported")
        .doesNotContain("mirror_lost");
    Fabric.await(
        "switches are as before", () -> network.fabric.switches().equals(previousSwitches));
    assertThat(network.agentsWith("queries", query)).isEmpty();
    report(firstRequestMs(query, steady, counts.keySet()), firstWindowMs);
  }

  @Test
  void aTriggerAddsUpThePacketsOfTwoMonitors() throws Exception {
    new SplitBurst(network).run();
  }

  @Test
  void theNetworkIsReportedFromTheInventoryAndFromItsSwitches() throws Exception {
    Fabric.await(
        "no packets are in flight", () -> network.get("/topology").path("settled").asBoolean());
    JsonNode topology = network.get("/topology");
    assertThat(topology.path("switches")).hasSize(20);
    assertThat(topology.path("links")).as("each once").hasSize(32);
    Fabric.await(
        "ports report their counters",
        () -> network.get("/topology").at("/switches/0/port_counters/0/tx_packets").asLong() > 0);
    assertThat(topology.at("/network/kind").asText()).contains("fat tree");
    Map<String, String> edges = new TreeMap<>();
    for (JsonNode host : topology.at("/network/hosts")) {
      edges.put(
          host.at("/addresses/0").asText().replace("/32", ""), host.path("edge_switch").asText());
    }
    assertThat(edges).hasSize(16);
    int seen = 0;
    for (JsonNode host : topology.path("hosts")) {
      String edge = edges.get(host.at("/addresses/0").asText());
      assertThat(host.path("at").asText()).startsWith(edge + ":");
      seen++;
    }
    assertThat(seen).as("hosts that have sent packets").isPositive();
  }

  /**
   * Returns the time in ms from the first window's end until its result, with an error of up to 200
   * ms.
   */
  private long awaitFirstWindow(String query) throws Exception {
    Fabric.await("a window", () -> !rows(query).isEmpty());
    return (Requests.nowNs() - rows(query).get(0).path("window_end_ns").asLong()) / 1_000_000;
  }

  private JsonNode rows(String query) throws Exception {
    return network.get("/queries/" + query + "/results").path("rows");
  }

  /** Sends requests that the query selects, and others; returns the URLs of the selected ones. */
  private Set<String> sendFromEverywhere() {
    List<Requests> wanted =
        List.of(
            network.requests("h-0-0-1", H1_ADDRESS, 80, "same-switch", EACH),
            network.requests("h-3-1-1", H1_ADDRESS, 80, "other-pod", EACH),
            network.requests(H1, H2_ADDRESS, 8080, "one-to-the-other", EACH));
    List<Requests> others =
        List.of(
            network.requests("h-2-1-0", H1_ADDRESS, 81, "other-port", EACH),
            network.requests("h-2-1-1", H3_ADDRESS, 80, "other-host", EACH));
    Set<String> sent = new TreeSet<>();
    wanted.forEach(requests -> requests.await().forEach(request -> sent.add(request.url())));
    others.forEach(Requests::await);
    assertThat(sent).hasSize(3 * EACH);
    return sent;
  }

  private long firstRequestMs(String query, Requests steady, Set<String> counted) throws Exception {
    long submittedNs = state(query).path("submitted_ns").asLong();
    return steady.done().stream()
        .filter(request -> counted.contains(request.url()))
        .mapToLong(request -> (request.beganNs() - submittedNs) / 1_000_000)
        .min()
        .orElseThrow();
  }

  private static void report(long firstRequestMs, long firstWindowMs) {
    System.out.printf(
        "Mirroring: first counted request %d ms after submission, first window %d ms after its"
            + " end%n",
        firstRequestMs, firstWindowMs);
    assertThat(firstRequestMs).isLessThan(60_000);
    assertThat(firstWindowMs).isLessThan(60_000);
  }

  /** Tests that the other host at the same switch, which can see the same packets, takes over. */
  @Test
  void anotherHostTakesOverAndNothingIsCountedTwice() throws Exception {
    Map<String, String> previousSwitches = network.fabric.switches();
    Requests steady = network.requests("h-2-0-0", H1_ADDRESS, 80, "moved", Requests.UNLIMITED);
    String query = network.submit(OverlappingQueries.COUNT.formatted("*", H1_ADDRESS + ":80"));
    network.server().awaitState(query, "running");
    Fabric.await("some are counted", () -> network.counted(query).size() > EACH);
    Set<String> agents = network.agentsWith("queries", query);
    assertThat(agents).hasSize(1).isSubsetOf(H1, "h-0-0-1");
    String gone = agents.iterator().next();
    String remaining = gone.equals(H1) ? "h-0-0-1" : H1;

    long disconnectedNs = Requests.nowNs();
    network.killAgent(gone);
    Fabric.await(
        "the other has it", () -> network.agentsWith("queries", query).equals(Set.of(remaining)));
    long startNs = Requests.nowNs();
    Fabric.await(
        "requests are counted again",
        () -> {
          Set<String> counted = network.counted(query).keySet();
          return steady.done().stream()
              .anyMatch(request -> request.beganNs() > startNs && counted.contains(request.url()));
        });
    network.startAgent(gone);
    Fabric.await("it is back", () -> network.agentsWith("state", "up").equals(WATCHERS));
    assertThat(network.agentsWith("queries", query)).containsExactly(remaining);
    assertThat(state(query).path("state").asText()).isEqualTo("running");
    steady.close();
    network.stop(query);

    Map<String, Long> counts = network.counted(query);
    assertThat(counts.values()).as("each counted once").containsOnly(1L);
    assertThat(state(query).toString()).as("the gap is reported").contains("\"monitor_replaced\"");
    Fabric.await(
        "switches are as before", () -> network.fabric.switches().equals(previousSwitches));
    System.out.printf(
        "Mirroring: %d ms without a counted request after SIGKILL of an agent%n",
        Requests.longestGapNs(steady.beganNs(counts.keySet()), disconnectedNs) / 1_000_000);
  }

  /**
   * Tests two monitors that see packets continuously. Each alone would soon exceed the query's
   * limit.
   */
  @Test
  void aLimitInPacketsAppliesToAllMonitorsTogether() throws Exception {
    int max = 1500;
    List<Requests> steady =
        List.of(
            network.requests("h-2-0-0", H1_ADDRESS, 80, "one", Requests.UNLIMITED),
            network.requests("h-2-0-1", H2_ADDRESS, 8080, "two", Requests.UNLIMITED));
    for (Requests requests : steady) {
      Fabric.await("the client sends requests", () -> requests.done().size() > 5);
    }
    String query =
        network.submit(
            ("PARSE tcp_pkt_size FROM * TO %s:80, %s:8080 LIMIT %dp SAMPLE *"
                    + " PROCESS (group-sum: group=dst_ip, by=packets)")
                .formatted(H1_ADDRESS, H2_ADDRESS, max));
    assertThat(state(query).path("plan").path("monitors")).hasSize(2);
    network.server().awaitState(query, "finished");
    steady.forEach(Requests::close);
    Map<String, Long> packets = new TreeMap<>();
    rows(query)
        .forEach(
            row ->
                packets.put(row.path("key").path("dst_ip").asText(), row.path("value").asLong()));
    assertThat(packets.keySet()).as("both were seen").contains(H1_ADDRESS, H2_ADDRESS);
    assertThat(packets.values().stream().mapToLong(Long::longValue).sum()).isEqualTo(max);
    assertThat(state(query).path("totals").path("packets_out").asLong()).isEqualTo(max);
    Fabric.await("no part is assigned", () -> network.agentsWith("queries", query).isEmpty());
  }

  /**
   * Tests a cable that silently drops packets. The reported loss must equal the number of packets
   * that the switch copied in the meantime.
   */
  @Test
  void lossesBetweenSwitchAndMonitorAreReportedExactly() throws Exception {
    Fabric.await("no copies of earlier queries are counted", () -> !anyCopies());
    String query =
        network.submit(
            ("PARSE tcp_pkt_size FROM * TO %s:9 LIMIT 1h SAMPLE *"
                    + " PROCESS (group-sum: group=dst_ip, by=packets)")
                .formatted(H1_ADDRESS));
    network.server().awaitState(query, "running");
    String monitor = network.agentsWith("queries", query).iterator().next();
    Fabric.await("copies are counted", () -> mirrored(monitor).has("copied"));
    sendDatagrams(150);
    long previousCopies = copiesAtRest(150);
    assumeTrue(network.fabric.cut(monitor), "SKIPPED: tc is missing, or can't drop packets");
    sendDatagrams(200);
    long laterCopies = copiesAtRest(previousCopies + 200);
    network.fabric.mend(monitor);
    sendDatagrams(50);
    long all = copiesAtRest(laterCopies + 50);
    Fabric.await(
        "the loss is detected",
        () -> mirrored(monitor).path("lost").asLong() >= laterCopies - previousCopies);
    Map<String, Long> byRule = network.fabric.copiedByRule("e00");
    JsonNode accounts = mirrored(monitor);
    network.stop(query);

    JsonNode totals = state(query).path("totals");
    String seen =
        "copies of 150, 350, 400 packets: %d, %d, %d, then %s; accounts %s, totals %s"
            .formatted(previousCopies, laterCopies, all, byRule, accounts, totals);
    assertThat(totals.at("/dropped/mirror_lost").asLong())
        .as(seen)
        .isEqualTo(laterCopies - previousCopies);
    assertThat(totals.path("packets_in").asLong()).as(seen).isEqualTo(all);
  }

  private boolean anyCopies() throws Exception {
    for (String host : WATCHERS) {
      if (mirrored(host).has("copied")) {
        return true;
      }
    }
    return false;
  }

  private JsonNode mirrored(String host) throws Exception {
    for (JsonNode agent : network.get("/nodes").path("agents")) {
      if (agent.path("agent").asText().equals(host)) {
        return agent.path("mirrored");
      }
    }
    throw new AssertionError("no agent " + host);
  }

  private void sendDatagrams(int count) {
    String script =
        "import socket, time\nto = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)\n"
            + "for i in range(%d):\n  to.sendto(b'x', ('%s', 9)); time.sleep(0.001)\n";
    String program = script.formatted(count, H1_ADDRESS);
    Fabric.run(network.fabric.in("h-3-1-1", "python3", "-c", program)).expectSuccess();
  }

  /**
   * Returns the number of packets that the rules have copied: the expected number or, if the
   * counters stop earlier, their last value.
   */
  private long copiesAtRest(long sent) throws Exception {
    long[] copies = {-1};
    int[] same = {0};
    Fabric.await(
        "counters no longer change",
        () -> {
          long now = network.fabric.copied("e00");
          same[0] = now == copies[0] ? same[0] + 1 : 0;
          copies[0] = now;
          return now == sent || same[0] == MANY_TIMES;
        });
    return copies[0];
  }

  @Test
  void elevenOverlappingQueriesEachGetTheirPacketsAndForwardingNeverChanges() throws Exception {
    new OverlappingQueries(network, 5).run(5);
  }

  private JsonNode state(String query) throws Exception {
    return network.get("/queries/" + query);
  }
}
