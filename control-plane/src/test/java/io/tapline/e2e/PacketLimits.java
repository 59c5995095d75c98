package io.tapline.e2e;

import static io.tapline.e2e.MirroredNetwork.H1;
import static io.tapline.e2e.MirroredNetwork.H1_ADDRESS;
import static io.tapline.e2e.MirroredNetwork.H2_ADDRESS;
import static io.tapline.e2e.MirroredNetwork.WATCHERS;
import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;

/**
 * Tests a query with LIMIT Np on two monitors, each of which sees more than N packets. The leading
 * control plane, which grants packets, or an agent is killed meanwhile. The monitors must never
 * take more than N packets together.
 */
final class PacketLimits implements AutoCloseable {
  /** N of LIMIT Np; exceeds the number of packets that are sent while there is no leader. */
  private static final int LIMIT = 12_000;

  private static final String QUERY =
      "PARSE tcp_pkt_size FROM * TO %s:80, %s:8080 LIMIT %dp SAMPLE *"
          + " PROCESS (group-sum: group=dst_ip, by=packets)";

  private final MirroredNetwork network;
  private final Requests one;
  private final Requests two;
  private final String query;

  /**
   * Starts clients and the query; returns once packets have been taken.
   *
   * @param name prefix of the names in the request URLs; other queries may also count the requests
   */
  private PacketLimits(MirroredNetwork network, String name) throws Exception {
    this.network = network;
    one = network.requests("h-2-0-0", H1_ADDRESS, 80, name + "-one", Requests.UNLIMITED);
    two = network.requests("h-2-0-1", H2_ADDRESS, 8080, name + "-two", Requests.UNLIMITED);
    query = network.submit(QUERY.formatted(H1_ADDRESS, H2_ADDRESS, LIMIT));
    network.server().awaitState(query, "running");
    assertThat(network.agentsWith("queries", query)).hasSize(2);
    Fabric.await("some are taken", () -> taken() > 0);
  }

  /**
   * Kills the leader. The next leader must grant the remainder, which is used completely and not
   * exceeded.
   */
  static void leaderKilled(MirroredNetwork network) throws Exception {
    try (PacketLimits limited = new PacketLimits(network, "limit-leader")) {
      network.killServer(network.leader());
      network.awaitLeader();
      long takenBefore = limited.taken();
      limited.awaitEnd("leader", takenBefore);
      assertThat(limited.taken()).as("%s", limited.state()).isEqualTo(LIMIT);
      assertThat(limited.inResult()).as("%s", limited.results()).isEqualTo(LIMIT);
    }
  }

  /**
   * Kills an agent. The other host at the switch is granted part of the remainder; the dead host's
   * grant is lost.
   */
  static void agentKilled(MirroredNetwork network) throws Exception {
    try (PacketLimits limited = new PacketLimits(network, "limit-agent")) {
      String watcher =
          network.agentsWith("queries", limited.query).stream()
              .filter(Set.of(H1, "h-0-0-1")::contains)
              .findFirst()
              .orElseThrow();
      network.killAgent(watcher);
      Fabric.await(
          "another host has it",
          () -> !network.agentsWith("queries", limited.query).contains(watcher));
      long takenBefore = limited.taken();
      limited.awaitEnd("agent", takenBefore);
      assertThat(limited.taken()).as("%s", limited.state()).isBetween(LIMIT / 2L, (long) LIMIT);
      assertThat(limited.inResult()).as("%s", limited.results()).isLessThanOrEqualTo(LIMIT);
      assertThat(limited.dropped().path("monitor_replaced").asLong()).isPositive();
      network.startAgent(watcher);
    }
    Fabric.await("it is back", () -> network.agentsWith("state", "up").equals(WATCHERS));
  }

  private void awaitEnd(String killed, long takenBefore) throws Exception {
    Fabric.await("it ends", () -> !state().path("state").asText().equals("running"));
    assertThat(state().path("state").asText()).as("%s", state()).isEqualTo("finished");
    System.out.printf(
        "Takeover: %s killed, LIMIT %dp: %d packets taken by the takeover, %d at the end, %d in the result; dropped %s%n",
        killed, LIMIT, takenBefore, taken(), inResult(), dropped());
  }

  private JsonNode state() throws Exception {
    return network.get("/queries/" + query);
  }

  private long taken() throws Exception {
    return state().at("/totals/packets_out").asLong();
  }

  private JsonNode dropped() throws Exception {
    return state().at("/totals/dropped");
  }

  /**
   * Returns the number of packets that the query counted, by destination. A destination's last row
   * includes the earlier ones.
   */
  private Map<String, Long> results() throws Exception {
    Map<String, Long> packets = new TreeMap<>();
    String cursor = "";
    while (true) {
      JsonNode page = network.get("/queries/" + query + "/results" + cursor);
      for (JsonNode row : page.path("rows")) {
        packets.put(row.at("/key/dst_ip").asText(), row.path("value").asLong());
      }
      if (page.path("rows").isEmpty()) {
        return packets;
      }
      cursor = "?after=" + page.path("last_entry").asText();
    }
  }

  private long inResult() throws Exception {
    return results().values().stream().mapToLong(Long::longValue).sum();
  }

  @Override
  public void close() {
    one.close();
    two.close();
  }
}
