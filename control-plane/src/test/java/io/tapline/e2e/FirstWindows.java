package io.tapline.e2e;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import io.tapline.control.testing.Certificates;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.NavigableMap;
import java.util.Set;
import java.util.TreeMap;
import java.util.function.Predicate;

/**
 * Compares a query for a web server's packets with the headers that a MultiLog node stores on the
 * server's host. The query is started, disturbed and stopped while a client sends requests. For
 * each second that is not marked partial, the query must count as many packets as the host stored.
 *
 * <p>A packet has two timestamps: the host's, and that of the monitor that gets the copy. So the
 * client pauses around the end of each second, and seconds with a packet in the pause are not
 * compared.
 */
final class FirstWindows implements AutoCloseable {
  private static final String SERVER = "h-0-0-0";

  /** The agents' hosts: the web server's host and another one at the same switch. */
  private static final Set<String> WATCHERS = Set.of(SERVER, "h-0-0-1");

  private static final String ADDRESS = "10.0.0.2";
  private static final String QUERY =
      "PARSE tcp_pkt_size FROM * TO %s:80 LIMIT 1h SAMPLE * PROCESS (group-sum: by=packets, w=1s, s=1s)"
          .formatted(ADDRESS);
  private static final long SECOND_NS = 1_000_000_000L;
  private static final long REST_NS = 100_000_000L;

  /** Minimum number of seconds to compare after each start, and after each disturbance. */
  private static final int ENOUGH = 2;

  private static final String CLIENT =
      """
      import http.client, sys, time
      while True:
          now = time.time() % 1
          if not 0.25 < now < 0.6:
              time.sleep((1.25 - now) % 1)
          connection = http.client.HTTPConnection(sys.argv[1], 80, timeout=60)
          connection.request("GET", "/")
          connection.getresponse().read()
          connection.close()
          time.sleep(0.005)
      """;

  private final List<AutoCloseable> open = new ArrayList<>();
  private final MirroredNetwork network;

  /** Time after which a node has captured all headers of a past second. */
  private static final long SETTLE_MS = 3_000;

  /** Time of the latest disturbance; Long.MAX_VALUE if there was none since the query's start. */
  private long disturbedNs;

  /** Faults that the test causes for a query's monitor. */
  enum Disturbance {
    NONE,
    /** The monitor is killed, and its agent starts another one. */
    MONITOR_KILLED,
    /** The agent is killed, and another host takes over. */
    AGENT_KILLED
  }

  /**
   * The outcome of a query.
   *
   * @param partial number of partial seconds
   * @param compared number of complete seconds, all of which matched the host
   * @param repeated number of complete seconds that began after the disturbance
   */
  record Outcome(int partial, int compared, int repeated) {}

  private FirstWindows(MirroredNetwork network) {
    this.network = network;
    open.add(network);
  }

  /**
   * Skips the test on hosts that can't run a testbed. Otherwise, returns once the client sends
   * requests.
   */
  static FirstWindows up(Path folder) throws Exception {
    Certificates authority = Certificates.authority(folder, "authority");
    Path token = Files.writeString(folder.resolve("token"), "of-this-test-and-no-other\n");
    int port = Server.freePort();
    FirstWindows windows =
        new FirstWindows(
            MirroredNetwork.onHosts(
                WATCHERS,
                fabric ->
                    List.of(
                        "--multilog",
                        SERVER + "=" + controlAddress(fabric) + ":" + port,
                        "--multilog-ca",
                        authority.file().toString(),
                        "--multilog-token-file",
                        token.toString())));
    try {
      windows.start(authority, folder, port);
      return windows;
    } catch (Exception | AssertionError e) {
      windows.close();
      throw e;
    }
  }

  private void start(Certificates authority, Path folder, int port) throws Exception {
    String address = controlAddress(network.fabric);
    authority.sign("host", "IP:" + address);
    List<String> node = new ArrayList<>();
    node.add(Cli.root().resolve("build/bin/tapline-multilog").toString());
    node.addAll(List.of("--node", SERVER, "--interface", "eth0", "--hugepages", "never"));
    node.addAll(List.of("--memory-mib", "64", "--listen", address + ":" + port));
    node.addAll(List.of("--tls-certificate", folder.resolve("host.pem").toString()));
    node.addAll(List.of("--tls-key", folder.resolve("host.key").toString()));
    node.addAll(List.of("--token-file", folder.resolve("token").toString()));
    open.add(network.fabric.start(SERVER, node.toArray(String[]::new)));
    open.add(Requests.serve(network.fabric, SERVER, ADDRESS, 80));
    open.add(network.fabric.start("h-3-1-1", "python3", "-c", CLIENT, ADDRESS));
    Fabric.await(
        "the host's headers are kept",
        () -> network.get("/nodes").at("/nodes/0/state").asText().equals("up"));
    long fromNs = Requests.nowNs();
    Fabric.await("the client sends requests", () -> !headers(fromNs).isEmpty());
  }

  /** Returns the address at which this host reaches the web server's host. */
  private static String controlAddress(Fabric fabric) {
    String script = "ip -4 -o addr show control0 | sed 's/.* inet \\([0-9.]*\\).*/\\1/'";
    return Fabric.run(fabric.in(SERVER, "sh", "-c", script)).expectSuccess().stdout().strip();
  }

  /**
   * Starts the query, compares its windows with the host's headers, disturbs the query, compares
   * again, and stops the query.
   */
  Outcome start(Disturbance disturbance) throws Exception {
    disturbedNs = Long.MAX_VALUE;
    String query = network.submit(QUERY);
    long fromNs = Requests.nowNs();
    Outcome outcome = await(query, fromNs, seconds -> seconds.compared() >= ENOUGH);
    if (disturbance != Disturbance.NONE) {
      disturb(disturbance, network.agentsWith("queries", query).iterator().next());
      outcome = await(query, fromNs, seconds -> seconds.repeated() >= ENOUGH);
    }
    network.stop(query);
    restartAgents();
    return outcome;
  }

  private void restartAgents() throws Exception {
    Set<String> up = network.agentsWith("state", "up");
    WATCHERS.stream().filter(host -> !up.contains(host)).forEach(network::startAgent);
    Fabric.await("agents are up", () -> network.agentsWith("state", "up").equals(WATCHERS));
  }

  private void disturb(Disturbance disturbance, String watcher) throws Exception {
    disturbedNs = Requests.nowNs();
    if (disturbance == Disturbance.AGENT_KILLED) {
      network.killAgent(watcher);
      return;
    }
    List<Long> monitors = network.monitors(watcher);
    assertThat(monitors).isNotEmpty();
    monitors.forEach(pid -> ProcessHandle.of(pid).ifPresent(ProcessHandle::destroyForcibly));
  }

  private Outcome await(String query, long fromNs, Predicate<Outcome> isSufficient)
      throws Exception {
    Outcome[] outcome = new Outcome[1];
    Fabric.await(
        "enough seconds of " + query,
        () -> {
          outcome[0] = compare(query, fromNs);
          return isSufficient.test(outcome[0]);
        });
    return outcome[0];
  }

  /**
   * Compares the complete seconds so far with the host's headers. Fails at the first second whose
   * number of packets differs.
   */
  private Outcome compare(String query, long fromNs) throws Exception {
    NavigableMap<Long, JsonNode> windows = new TreeMap<>();
    network.server().rows(query).forEach(row -> windows.put(start(row), row));
    List<Long> headers = windows.isEmpty() ? List.of() : headers(fromNs - SECOND_NS);
    int compared = 0;
    int repeated = 0;
    for (long second = firstOf(windows); second <= lastOf(windows); second += SECOND_NS) {
      if (isComplete(windows, second) && isClear(headers, second)) {
        JsonNode row = windows.get(second);
        long counted = row == null ? 0 : row.path("value").asLong();
        if (counted > between(headers, second, second + SECOND_NS)) {
          // On a busy host, the node may not have captured the latest headers yet.
          Thread.sleep(SETTLE_MS);
          headers = headers(fromNs - SECOND_NS);
        }
        assertThat(counted)
            .as("packets in the second from %d of %s: %s", second, query, row)
            .isEqualTo(between(headers, second, second + SECOND_NS));
        compared += row == null ? 0 : 1;
        repeated += row == null || second < disturbedNs ? 0 : 1;
      }
    }
    int partial = (int) windows.values().stream().filter(FirstWindows::isPartial).count();
    return new Outcome(partial, compared, repeated);
  }

  private static long firstOf(NavigableMap<Long, JsonNode> windows) {
    return windows.isEmpty() ? Long.MAX_VALUE : windows.firstKey();
  }

  private static long lastOf(NavigableMap<Long, JsonNode> windows) {
    return windows.isEmpty() ? Long.MIN_VALUE : windows.lastKey();
  }

  private static boolean isPartial(JsonNode row) {
    return row.path("partial").asBoolean();
  }

  /**
   * Returns true if a second is complete. A second without a row is complete if it ended more than
   * a second before the disturbance, or if a row between the disturbance and this second shows that
   * the query was running again.
   */
  private boolean isComplete(NavigableMap<Long, JsonNode> windows, long second) {
    JsonNode row = windows.get(second);
    boolean isSeen =
        second + SECOND_NS < disturbedNs - SECOND_NS
            || !windows.subMap(Math.min(disturbedNs, second), second).isEmpty();
    return row == null ? isSeen : !isPartial(row);
  }

  private static long start(JsonNode row) {
    return row.path("window_start_ns").asLong();
  }

  /** Returns true if there are no packets around either end of the second. */
  private static boolean isClear(List<Long> headers, long second) {
    return between(headers, second - REST_NS, second + REST_NS) == 0
        && between(headers, second + SECOND_NS - REST_NS, second + SECOND_NS + REST_NS) == 0;
  }

  private static long between(List<Long> headers, long fromNs, long toNs) {
    return headers.stream().filter(time -> time >= fromNs && time < toNs).count();
  }

  /** Returns the times, since {@code fromNs}, of the web server's packets on its host. */
  private List<Long> headers(long fromNs) throws Exception {
    String request =
        """
        {"filter": "src_port == 80 || dst_port == 80", "from_ns": %d, "limit": 100000}"""
            .formatted(fromNs);
    JsonNode response = network.drill(request);
    assertThat(response.path("truncated").asBoolean()).isFalse();
    List<Long> times = new ArrayList<>();
    response.path("rows").forEach(row -> times.add(row.path("time_ns").asLong()));
    return times;
  }

  @Override
  public void close() throws Exception {
    for (int i = open.size() - 1; i >= 0; i--) {
      open.get(i).close();
    }
  }
}
