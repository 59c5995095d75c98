package io.tapline.e2e;

import static io.tapline.e2e.MirroredNetwork.H1_ADDRESS;
import static io.tapline.e2e.MirroredNetwork.WATCHERS;
import static org.assertj.core.api.Assertions.assertThat;

import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.ThreadLocalRandom;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/**
 * Runs queries over real switches for a long time, and while the switches, the server and an agent
 * are killed.
 */
class MirroringSoak {
  private static final int EACH = 40;

  private MirroredNetwork network;

  @BeforeEach
  void start() throws Exception {
    network = MirroredNetwork.up();
  }

  @AfterEach
  void stop() throws Exception {
    if (network != null) {
      network.close();
    }
  }

  /** Runs MIRRORING_ROUNDS rounds (200 by default). */
  @Test
  void queriesThatStartAndStopReceiveAllTheirPackets() throws Exception {
    int rounds = Integer.parseInt(System.getenv().getOrDefault("MIRRORING_ROUNDS", "200"));
    long seed = ThreadLocalRandom.current().nextLong();
    System.out.printf("Mirroring: %d rounds, seed %d%n", rounds, seed);
    new OverlappingQueries(network, seed).run(rounds);
  }

  @Test
  void killedProcessesRestartOrAreNamedAndLeaveNothingBehind() throws Exception {
    Map<String, String> previousSwitches = network.fabric.switches();
    String query = network.submit(OverlappingQueries.COUNT.formatted("*", H1_ADDRESS + ":80"));
    network.server().awaitState(query, "running");
    Map<String, String> mirroring = network.fabric.switches();
    assertThat(mirroring).isNotEqualTo(previousSwitches);

    long switches = network.fabric.pid("ovs-vswitchd");
    ProcessHandle.of(switches).orElseThrow().destroyForcibly();
    Fabric.await("other switches", () -> network.fabric.pid("ovs-vswitchd") != switches);
    Fabric.await("their flows are restored", () -> network.fabric.switches().equals(mirroring));
    requireCounted(query, "after-the-switches");

    network.server().process().destroyForcibly().waitFor();
    network.startServer();
    Fabric.await("nothing is mirrored", () -> network.fabric.switches().equals(previousSwitches));
    Fabric.await("agents are up again", () -> network.agentsWith("state", "up").equals(WATCHERS));
    String next = network.submit(OverlappingQueries.COUNT.formatted("*", H1_ADDRESS + ":80"));
    network.server().awaitState(next, "running");
    requireCounted(next, "after-the-server");

    String watcher = network.agentsWith("queries", next).iterator().next();
    network.killAgent(watcher);
    network.startAgent(watcher);
    requireResumedCounts(next, "after-the-agent");
    network.killAgent(watcher);
    Fabric.await(
        "another host has it", () -> !network.agentsWith("queries", next).equals(Set.of(watcher)));
    requireResumedCounts(next, "at-another-host");
    assertThat(network.counted(next).values()).as("each counted once").containsOnly(1L);
    network.stop(next);
    Fabric.await("switches are restored", () -> network.fabric.switches().equals(previousSwitches));
  }

  /** Waits for any one of the requests, since it is unknown when the query sees packets again. */
  private void requireResumedCounts(String query, String name) throws Exception {
    Requests steady = network.requests("h-3-1-1", H1_ADDRESS, 80, name, Requests.UNLIMITED);
    Fabric.await(
        name, () -> network.counted(query).keySet().stream().anyMatch(url -> url.contains(name)));
    steady.close();
  }

  private void requireCounted(String query, String name) throws Exception {
    Set<String> sent = new TreeSet<>();
    Requests requests = network.requests("h-3-1-1", H1_ADDRESS, 80, name, EACH);
    requests.await().forEach(request -> sent.add(request.url()));
    Fabric.await(name, () -> network.counted(query).keySet().containsAll(sent));
  }
}
