package io.tapline.e2e;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;

/**
 * Tests queries that are submitted and stopped while a client continuously sends requests to a web
 * server. The Tapline server captures on an interface. Its host's agent runs one monitor for all
 * queries, and each query must count exactly the requests sent while it was running. Queries must
 * survive the death of the monitor or the agent.
 */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
@MakesNetworkDevices
class LiveQueriesTest {
  private static final long RESULT_SECONDS = 90;
  private static final int SOME = 60;
  private static final int LIMIT_PACKETS = 300;

  /** Text of a key whose value is JSON's null. */
  private static final String UNKNOWN = "null";

  private WebLink link;
  private Server server;

  @BeforeAll
  void start() throws Exception {
    link = WebLink.open();
    server = Server.start("--interface", link.networkInterface());
  }

  @AfterAll
  void everythingEndsInOrder() throws Exception {
    try {
      if (server != null) {
        List<ProcessHandle> children = server.process().descendants().toList();
        server.close();
        assertThat(server.process().exitValue()).isZero();
        // The kernel kills a monitor's worker once the worker's supervisor has ended.
        for (ProcessHandle child : children) {
          child.onExit().get(10, TimeUnit.SECONDS);
        }
      }
    } finally {
      if (link != null) {
        link.close();
      }
    }
  }

  private String submit(String parser, String limit, String group) {
    return server.submit(
        "PARSE %s FROM * TO %s:%d LIMIT %s SAMPLE * PROCESS (group-count: group=%s, w=1s, s=1s)"
            .formatted(parser, link.address(), WebLink.PORT, limit, group));
  }

  /**
   * A running query.
   *
   * @param before number of the first request that the query may have seen in part
   * @param first number of the first request that the query sees completely
   */
  private record Watch(String id, String field, int before, int first) {}

  private Watch watch(String parser, String field) throws Exception {
    int previousDone = link.done();
    String id = submit(parser, "1h", field);
    server.awaitState(id, "running");
    // The current request may have begun before the query was running.
    return new Watch(id, field, previousDone, link.done() + 1);
  }

  private JsonNode query(String id) throws Exception {
    return Cli.parse(server.get("/api/v1/queries/" + id).body());
  }

  private Map<String, Integer> counts(Watch watch) throws Exception {
    Map<String, Integer> counts = new HashMap<>();
    for (JsonNode row : server.rows(watch.id)) {
      counts.merge(
          row.get("key").get(watch.field).asText(), row.get("value").asInt(), Integer::sum);
    }
    return counts;
  }

  private String key(Watch watch, int request) {
    return watch.field.equals("url")
        ? WebLink.url(request)
        : Integer.toString(link.clientPort(request));
  }

  /**
   * Stops a query once it shows the latest request; returns that request's number. By then, all
   * earlier requests have been captured completely.
   */
  private int stop(Watch watch) throws Exception {
    int last = link.awaitMore(1) - 1;
    long deadline = System.nanoTime() + RESULT_SECONDS * 1_000_000_000L;
    while (!counts(watch).containsKey(key(watch, last))) {
      assertThat(System.nanoTime()).as("%s shows request %d", watch, last).isLessThan(deadline);
      assertThat(query(watch.id).get("state").asText()).isEqualTo("running");
      Thread.sleep(200);
    }
    Cli.run("query", "stop", watch.id, "--server", server.url()).expectSuccess();
    assertThat(query(watch.id).get("state").asText()).isEqualTo("stopped");
    return last;
  }

  /**
   * Checks that each request from the query's first one up to {@code last} is counted {@code times}
   * times. Other requests may be counted only if they were in progress when the query began or
   * ended.
   */
  private void expectCounts(Watch watch, int last, int times) throws Exception {
    Map<String, Integer> expected = new HashMap<>();
    for (int request = watch.first; request < last; request++) {
      expected.merge(key(watch, request), times, Integer::sum);
    }
    assertThat(expected).as("requests while %s ran", watch).isNotEmpty();
    Map<String, Integer> counts = counts(watch);
    Map<String, Integer> wrong = new TreeMap<>();
    expected.forEach(
        (key, count) -> {
          int counted = counts.getOrDefault(key, 0);
          if (counted != count) {
            wrong.put(key, counted);
          }
        });
    assertThat(wrong).as("not counted %d times by %s", times, watch).isEmpty();
    // Requests in progress at either end may be counted.
    Map<String, Integer> unexpected = new TreeMap<>(counts);
    for (int request = watch.before; request < link.done(); request++) {
      unexpected.remove(key(watch, request));
    }
    // The URL is unknown if the monitor joined a connection between its request and its response.
    unexpected.remove(UNKNOWN, 1);
    assertThat(unexpected).as("also counted by %s", watch).isEmpty();
    assertThat(query(watch.id).get("totals").get("dropped")).as("losses").isEmpty();
  }

  /**
   * Returns the descendants of {@code parent} that run a program, except those whose own parent
   * runs it, too.
   */
  private static List<ProcessHandle> children(ProcessHandle parent, String program) {
    return parent
        .descendants()
        .filter(child -> child.info().command().orElse("").endsWith(program))
        .filter(
            child -> !child.parent().flatMap(p -> p.info().command()).orElse("").endsWith(program))
        .toList();
  }

  /** Returns the first agent. Further agents run the queries for which the first has no room. */
  private ProcessHandle agent() {
    List<ProcessHandle> agents =
        children(server.process().toHandle(), "tapline-agent").stream()
            .filter(agent -> List.of(agent.info().arguments().orElseThrow()).contains("local-0"))
            .toList();
    assertThat(agents).hasSize(1);
    return agents.get(0);
  }

  /** Returns the supervisor process of the only monitor. */
  private ProcessHandle monitor() {
    List<ProcessHandle> monitors = children(server.process().toHandle(), "tapline-monitor");
    assertThat(monitors).hasSize(1);
    assertThat(monitors.get(0).parent()).contains(agent());
    return monitors.get(0);
  }

  @Test
  void queriesShareAMonitorAndEachCountsAllThatItSaw() throws Exception {
    Watch requests = watch("http_get", "url");
    ProcessHandle monitor = monitor();
    link.awaitMore(SOME);

    Watch connections = watch("tcp_conn_time", "src_port");
    assertThat(monitor()).isEqualTo(monitor);
    String few = submit("tcp_pkt_size", LIMIT_PACKETS + "p", "dst_port");
    server.awaitState(few, "finished");
    assertThat(query(few).get("totals").get("packets_out").asInt()).isEqualTo(LIMIT_PACKETS);
    assertThat(monitor()).isEqualTo(monitor);

    Watch laterWatch = watch("http_get", "url");
    link.awaitMore(SOME);
    assertThat(query(requests.id).get("state").asText()).isEqualTo("running");
    int connectionsLast = stop(connections);
    link.awaitMore(SOME);
    int laterResult = stop(laterWatch);
    link.awaitMore(SOME);
    int requestsLast = stop(requests);
    assertThat(monitor()).isEqualTo(monitor);

    // Each connection has three tuples: its beginning, its establishment and its end.
    expectCounts(connections, connectionsLast, 3);
    expectCounts(laterWatch, laterResult, 1);
    expectCounts(requests, requestsLast, 1);
    assertThat(laterWatch.first).isGreaterThan(requests.first + SOME);
  }

  @Test
  void queriesSurviveAKilledMonitor() throws Exception {
    expectContinuedAfterTheEndOf(this::monitor);
  }

  @Test
  void queriesSurviveAKilledAgent() throws Exception {
    expectContinuedAfterTheEndOf(this::agent);
  }

  /** Kills a process. Two queries must continue and report the gap, and a new query must start. */
  private void expectContinuedAfterTheEndOf(Supplier<ProcessHandle> victim) throws Exception {
    List<Watch> watches = List.of(watch("http_get", "url"), watch("tcp_conn_time", "src_port"));
    link.awaitMore(SOME);
    ProcessHandle killed = victim.get();
    List<ProcessHandle> gone = Stream.concat(Stream.of(killed), killed.descendants()).toList();
    killed.destroyForcibly();
    for (ProcessHandle process : gone) {
      process.onExit().get(30, TimeUnit.SECONDS);
    }
    int previousDone = link.done();
    for (Watch watch : watches) {
      int resumed = awaitCounted(watch, previousDone);
      link.awaitMore(SOME);
      assertThat(query(watch.id).get("state").asText()).isEqualTo("running");
      int last = stop(new Watch(watch.id, watch.field, watch.before, resumed));
      int times = watch.field.equals("url") ? 1 : 3;
      Map<String, Integer> counts = counts(watch);
      counts.remove(UNKNOWN);
      for (int request = resumed + 1; request < last; request++) {
        assertThat(counts.get(key(watch, request)))
            .as("%s, request %d", watch, request)
            .isEqualTo(times);
      }
      assertThat(counts.values()).as("nothing is counted twice").allMatch(count -> count <= times);
      assertThat(query(watch.id).get("totals").get("dropped").path("monitor_replaced").asInt())
          .as("the gap of %s", watch)
          .isPositive();
    }
    assertThat(victim.get()).isNotEqualTo(killed);
    Watch next = watch("http_get", "url");
    link.awaitMore(SOME);
    expectCounts(next, stop(next), 1);
  }

  /** Waits until a request after the given one is counted; returns its number. */
  private int awaitCounted(Watch watch, int afterNumber) throws Exception {
    long deadline = System.nanoTime() + RESULT_SECONDS * 1_000_000_000L;
    while (System.nanoTime() < deadline) {
      Map<String, Integer> counts = counts(watch);
      for (int request = afterNumber + 1; request < link.done(); request++) {
        if (counts.containsKey(key(watch, request))) {
          return request;
        }
      }
      Thread.sleep(200);
    }
    throw new AssertionError(watch + " does not continue after request " + afterNumber);
  }

  @Test
  void failsTheQueryWithTheMessageOfAMonitorThatCannotStart() throws Exception {
    String gone = link.networkInterface() + "g";
    link.require("ip link add " + gone + " type veth peer name " + gone + "p");
    try (Server otherServer = Server.start("--interface", gone)) {
      link.require("ip link del " + gone);
      for (int i = 0; i < 2; i++) {
        String id =
            otherServer.submit("PARSE http_get FROM * TO * SAMPLE * PROCESS (top-k: k=3, w=10s)");
        otherServer.awaitState(id, "failed");
        JsonNode failed = Cli.parse(otherServer.get("/api/v1/queries/" + id).body());
        assertThat(failed.get("error").asText()).contains("local-0").contains(gone);
      }
    }
  }

  @Test
  void aKilledServerEndsItsMonitor() throws Exception {
    try (Server otherServer = Server.start("--interface", link.networkInterface())) {
      String id =
          otherServer.submit("PARSE http_get FROM * TO * SAMPLE * PROCESS (top-k: k=3, w=10s)");
      otherServer.awaitState(id, "running");
      List<ProcessHandle> children = otherServer.process().descendants().toList();
      assertThat(children)
          .anyMatch(child -> child.info().command().orElse("").endsWith("tapline-monitor"));
      otherServer.process().destroyForcibly().waitFor();
      for (ProcessHandle child : children) {
        child.onExit().get(30, TimeUnit.SECONDS);
      }
    }
  }
}
