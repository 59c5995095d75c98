package io.tapline.e2e;

import static io.tapline.e2e.MirroredNetwork.H1_ADDRESS;
import static io.tapline.e2e.MirroredNetwork.WATCHERS;
import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.concurrent.Callable;
import org.apache.kafka.clients.admin.Admin;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * Runs a query over real switches while processes are killed in turn: the leading control plane
 * (switches and agents connect to the other one), a ZooKeeper server, the switches, a monitor and
 * an agent. Prints the duration of each recovery.
 */
class TakeoverSoak {
  private static final int EACH = 40;
  private static final String SERVER_SWITCH = "e00";

  /** Everything in {@link #state()} that a query for one server changes. */
  private static final List<String> EVERYWHERE =
      List.of(
          "agents with queries",
          SERVER_SWITCH,
          "hosts with monitors",
          "jobs",
          "records in ZooKeeper",
          "topics");

  @TempDir Path folder;

  private MirroredNetwork network;
  private String query;

  @BeforeEach
  void start() throws Exception {
    network = MirroredNetwork.upCoordinated(folder);
  }

  @AfterEach
  void stop() throws Exception {
    if (network != null) {
      network.close();
    }
  }

  @Test
  void theQueryContinuesAfterAnyKillAndLeavesNothingBehind() throws Exception {
    Map<String, String> previousState = state();
    query = network.submit(OverlappingQueries.COUNT.formatted("*", H1_ADDRESS + ":80"));
    network.server().awaitState(query, "running");
    Map<String, String> mirroring = network.fabric.rules();
    assertThat(different(previousState))
        .as("state that a query changes")
        .containsExactlyElementsOf(EVERYWHERE);
    counted("before");

    survivesAKilledLeader(mirroring);
    leaderKilledRulesArePutRight(mirroring);
    PacketLimits.leaderKilled(network);
    network.startServer(other());
    zooKeeperKilled();
    switchesKilled(mirroring);
    monitorKilled();
    agentKilled();
    PacketLimits.agentKilled(network);

    leaderKilledTheQueryStops();
    Map<String, Long> counts = network.counted(query);
    assertThat(counts.values()).as("each counted once").containsOnly(1L);
    Fabric.await("everything is as before", () -> state().equals(previousState));
  }

  /**
   * Kills the leader. Monitors, Kafka, Flink and rules are unaffected, so every request must be
   * counted.
   */
  private void survivesAKilledLeader(Map<String, String> mirroring) throws Exception {
    Requests steady = network.requests("h-2-0-0", H1_ADDRESS, 80, "led", Requests.UNLIMITED);
    Fabric.await("some are counted", () -> has("/led/"));
    killLeader("leader", mirroring);
    int requiredCount = steady.done().size() + EACH;
    Fabric.await("more requests", () -> steady.done().size() > requiredCount);
    steady.close();
    requireCounted(steady.done());
    network.startServer(other());
  }

  /**
   * Adds a foreign rule, and deletes our rules while there is no leader. The next leader must
   * restore our rules and keep the foreign one.
   */
  private void leaderKilledRulesArePutRight(Map<String, String> mirroring) throws Exception {
    String foreign = "cookie=0x1234,table=1,priority=7,dl_dst=02:00:00:00:00:99,actions=drop";
    network.fabric.openFlow("add-flow", SERVER_SWITCH, foreign);
    Map<String, String> wanted = network.fabric.rules();
    assertThat(wanted).isNotEqualTo(mirroring);
    network.killServer(network.leader());
    String ours = "cookie=0x7a91020000000000/0xffffff0000000000";
    network.fabric.openFlow("del-flows", SERVER_SWITCH, ours);
    assertThat(network.fabric.mirroring()).isEmpty();
    long killedNs = System.nanoTime();
    network.awaitLeader();
    timed("leader, with rules deleted: the rules are restored", killedNs, () -> rulesAre(wanted));
    network.fabric.openFlow("del-flows", SERVER_SWITCH, "cookie=0x1234/-1");
    counted("repaired");
    network.startServer(other());
  }

  private boolean rulesAre(Map<String, String> wanted) throws Exception {
    return network.fabric.rules().equals(wanted);
  }

  private void killLeader(String process, Map<String, String> mirroring) throws Exception {
    long killedNs = System.nanoTime();
    network.killServer(network.leader());
    network.awaitLeader();
    timed(
        process + ": another control plane leads, and the agents are connected to it",
        killedNs,
        () -> network.agentsWith("state", "up").equals(WATCHERS));
    timed(process + ": the switches are connected to it, too", killedNs, () -> switchesUp() == 20);
    assertThat(network.fabric.rules()).as("rules are restored").isEqualTo(mirroring);
    assertThat(state(query).path("state").asText()).isEqualTo("running");
  }

  /** Returns the number of the control plane that is not leading. */
  private int other() throws Exception {
    return 1 - network.leader();
  }

  private long switchesUp() throws Exception {
    // Counts the switches' connections to the leader.
    long leader = network.server().process().pid();
    List<String> list =
        List.of("sh", "-c", "ss -Htnp state established sport = :$0 | grep -c pid=$1, || true");
    String port = Integer.toString(network.fabric.openFlowPort);
    return Long.parseLong(
        Fabric.run(List.of(list.get(0), list.get(1), list.get(2), port, Long.toString(leader)))
            .expectSuccess()
            .stdout()
            .strip());
  }

  /** Kills the leading ZooKeeper server, which is the worst case. */
  private void zooKeeperKilled() throws Exception {
    Requests steady = network.requests("h-2-0-0", H1_ADDRESS, 80, "three", Requests.UNLIMITED);
    Fabric.await("some are counted", () -> has("/three/"));
    int leads = network.leader();
    int killed = network.zooKeepers().leader();
    long killedNs = System.nanoTime();
    network.zooKeepers().kill(killed);
    timed(
        "ZooKeeper's leader: the other two serve",
        killedNs,
        () -> network.zooKeepers().serving() == 2);
    String next = network.submit(OverlappingQueries.COUNT.formatted("*", H1_ADDRESS + ":81"));
    network.server().awaitState(next, "running");
    System.out.printf(
        "Takeover: ZooKeeper's leader: another query runs after %.1f s%n",
        (System.nanoTime() - killedNs) / 1e9);
    network.stop(next);
    assertThat(network.leader()).as("the same control plane leads").isEqualTo(leads);
    steady.close();
    requireCounted(steady.done());
    network.zooKeepers().start(killed);
    Fabric.await("three serve", () -> network.zooKeepers().serving() == 3);
  }

  private void switchesKilled(Map<String, String> mirroring) throws Exception {
    long switches = network.fabric.pid("ovs-vswitchd");
    long killedNs = System.nanoTime();
    ProcessHandle.of(switches).orElseThrow().destroyForcibly();
    Fabric.await("other switches", () -> network.fabric.pid("ovs-vswitchd") != switches);
    timed("ovs-vswitchd: all flows are back", killedNs, () -> rulesAre(mirroring));
    counted("switched");
  }

  private void monitorKilled() throws Exception {
    Requests steady = network.requests("h-2-0-0", H1_ADDRESS, 80, "monitor", Requests.UNLIMITED);
    Fabric.await("some are counted", () -> has("/monitor/"));
    String watcher = network.agentsWith("queries", query).iterator().next();
    long killedNs = Requests.nowNs();
    network
        .monitors(watcher)
        .forEach(pid -> ProcessHandle.of(pid).ifPresent(ProcessHandle::destroyForcibly));
    requireResumedCounts("monitor", steady, killedNs);
  }

  /** Kills the agent; the other host at the same switch takes over. */
  private void agentKilled() throws Exception {
    Requests steady = network.requests("h-2-0-0", H1_ADDRESS, 80, "agent", Requests.UNLIMITED);
    Fabric.await("some are counted", () -> has("/agent/"));
    String watcher = network.agentsWith("queries", query).iterator().next();
    long killedNs = Requests.nowNs();
    network.killAgent(watcher);
    Fabric.await(
        "another has it", () -> !network.agentsWith("queries", query).equals(Set.of(watcher)));
    requireResumedCounts("agent", steady, killedNs);
    network.startAgent(watcher);
    Fabric.await("it is back", () -> network.agentsWith("state", "up").equals(WATCHERS));
    assertThat(state(query).path("totals").toString())
        .as("the gap is named")
        .contains("\"monitor_replaced\"");
  }

  /**
   * Waits until requests are counted again; prints the length of the gap, in which requests may be
   * lost.
   */
  private void requireResumedCounts(String process, Requests steady, long killedNs)
      throws Exception {
    int requiredCount = steady.done().size() + EACH;
    Fabric.await("more requests", () -> steady.done().size() > requiredCount);
    long lateNs = Requests.nowNs();
    Fabric.await("requests are counted again", () -> last(countedOf(steady)) > lateNs);
    steady.close();
    System.out.printf(
        "Takeover: %s: %.2f s without a counted request%n",
        process, Requests.longestGapNs(countedOf(steady), killedNs) / 1e9);
  }

  /** Returns the start times of the requests that were counted, in order. */
  private List<Long> countedOf(Requests steady) throws Exception {
    return steady.beganNs(network.counted(query).keySet());
  }

  private static long last(List<Long> times) {
    return times.isEmpty() ? 0 : times.get(times.size() - 1);
  }

  /** Kills the leader after it has received a stop request; the next leader must stop the query. */
  private void leaderKilledTheQueryStops() throws Exception {
    network.requestStop(query);
    network.killServer(network.leader());
    network.awaitLeader();
    Fabric.await("it stops", () -> state(query).path("state").asText().equals("stopped"));
  }

  private void timed(String process, long sinceNs, Callable<Boolean> holds) throws Exception {
    Fabric.await(process, holds);
    System.out.printf("Takeover: %s %.1f s%n", process, (System.nanoTime() - sinceNs) / 1e9);
  }

  private boolean has(String name) throws Exception {
    return network.counted(query).keySet().stream().anyMatch(url -> url.contains(name));
  }

  private void counted(String name) throws Exception {
    requireCounted(network.requests("h-3-1-1", H1_ADDRESS, 80, name, EACH).await());
  }

  private void requireCounted(List<Requests.Request> requests) throws Exception {
    Set<String> urls = new TreeSet<>();
    requests.forEach(request -> urls.add(request.url()));
    assertThat(urls).isNotEmpty();
    Fabric.await("all are counted", () -> network.counted(query).keySet().containsAll(urls));
  }

  private JsonNode state(String query) throws Exception {
    return network.get("/queries/" + query);
  }

  private Set<String> different(Map<String, String> previousState) throws Exception {
    Map<String, String> now = state();
    now.entrySet().removeIf(entry -> entry.getValue().equals(previousState.get(entry.getKey())));
    return now.keySet();
  }

  /** Returns the state that queries change, except their results in Redis. */
  private Map<String, String> state() throws Exception {
    Map<String, String> all = new TreeMap<>(network.fabric.rules());
    all.put("hosts with monitors", network.hostsWithMonitors().toString());
    all.put("agents with queries", network.agentsWith("queries", "-").toString());
    all.put("records in ZooKeeper", network.shared().records().toString());
    String jobs = network.shared().flink.get("/jobs/overview");
    all.put("jobs", Boolean.toString(jobs.matches("(?s).*\"(RUNNING|CREATED|RESTARTING)\".*")));
    try (Admin kafka = Admin.create(Map.of("bootstrap.servers", network.shared().brokers()))) {
      all.put("topics", new TreeSet<>(kafka.listTopics().names().get()).toString());
    }
    return all;
  }
}
