package io.tapline.e2e;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.io.TempDir;

/**
 * Tests queries with AT over real switches without configured taps. Switches copy both sides of
 * four queues to two monitors, at a rate that polled switches sustain on a busy machine. One
 * monitor is at both ends of its links, the other at one end. {@link FourQueuesSoak} measures
 * errors and delays.
 */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
@MakesNetworkDevices
class FourQueuesTest {
  /** Each burst is too long for the queue, so that some of its packets are dropped. */
  private static final FourQueues.Load LOAD = new FourQueues.Load(5, 60, 6, 260, 900, 20);

  /**
   * A busy machine delays some bursts so much that they do not fill the queue, or that they merge.
   */
  private static final int MIN_BURSTS = 2;

  private static final String AT_BOTH_ENDS = FourQueues.MONITORS.get(1);

  private static final String DEPTH =
      "PARSE queue_depth(every=10ms) FROM * TO * AT "
          + String.join(", ", FourQueues.names())
          + " LIMIT 300s SAMPLE * PROCESS (group-%s: group=queue, by=%s, w=1s)";

  private static final String SENDER = "10.0.0.3";

  /** A query for the packets of a sender, whose copies the first monitor also receives. */
  private static final String PLAIN =
      "PARSE udp_flow FROM "
          + SENDER
          + " TO *:9000 LIMIT 300s SAMPLE * PROCESS (group-sum: group=dst_port, by=client_packets, w=1s)";

  /** Seconds without a change after which results are complete. */
  private static final int REST_SECONDS = 3;

  private FourQueues four;

  @BeforeAll
  void start(@TempDir Path folder) throws Exception {
    four = FourQueues.up(LOAD, Set.of(AT_BOTH_ENDS), folder);
  }

  @AfterAll
  void stop() throws Exception {
    if (four != null) {
      four.close();
    }
  }

  /** Returns the sum of a query's values, or their maximum, by the first field of their key. */
  private Map<String, Long> values(String query, boolean largest) throws Exception {
    return four.network.server().rows(query).stream()
        .collect(
            Collectors.toMap(
                row -> row.path("key").elements().next().asText(),
                row -> row.path("value").asLong(),
                largest ? Math::max : Long::sum,
                TreeMap::new));
  }

  /** Returns the number of copies that were sent to the monitors and did not arrive. */
  private long copiesLost() throws Exception {
    long lost = 0;
    for (JsonNode agent : four.network.get("/nodes").path("agents")) {
      lost += agent.path("mirrored").path("lost").asLong();
    }
    return lost;
  }

  /** Waits until the results contain all packets that left the queues, and no longer change. */
  private void awaitRest(String left, Map<String, Long> leftByQueue, String... others)
      throws Exception {
    Fabric.await("all packets that left", () -> values(left, false).equals(leftByQueue));
    String seen = "";
    int same = 0;
    for (int second = 0; second < 90 && same < REST_SECONDS; second++) {
      StringBuilder now = new StringBuilder().append(copiesLost());
      for (String query : others) {
        now.append(values(query, false));
      }
      same = now.toString().equals(seen) ? same + 1 : 0;
      seen = now.toString();
      Thread.sleep(1000);
    }
  }

  /** Uses bounds that a machine meets even while other tests are running. */
  @Test
  void copiesShowTheKernelsQueuesAndEventsFollowTheirPackets() throws Exception {
    Map<String, String> previousSwitches = four.network.fabric.switches();
    String left = four.network.submit(DEPTH.formatted("sum", "packets"));
    String lost = four.network.submit(DEPTH.formatted("sum", "lost"));
    String bytes = four.network.submit(DEPTH.formatted("sum", "bytes"));
    String deepest = four.network.submit(DEPTH.formatted("max", "queue_packets"));
    String plain = four.network.submit(PLAIN);
    String[] queries = {left, lost, bytes, deepest, plain};
    for (String query : queries) {
      four.network.server().awaitState(query, "running");
    }
    assertThat(four.network.fabric.mirroring().keySet())
        .containsExactlyInAnyOrder("e00", "e01", "a00", "a01");
    List<FourQueues.Queue> queues = four.run();
    assertThat(queues).extracting(FourQueues.Queue::name).isEqualTo(FourQueues.names());
    Map<String, Long> leftByQueue = new TreeMap<>();
    queues.forEach(queue -> leftByQueue.put(queue.name(), (long) queue.left()));
    awaitRest(left, leftByQueue, lost, bytes, plain);

    long copiesLost = copiesLost();
    long dropped = 0;
    long copies = 0;
    for (FourQueues.Queue queue : queues) {
      assertMatchesTheKernel(queue);
      String seen = queue + ", copies lost: " + copiesLost;
      long neverLeft = queue.arrived() - queue.left();
      assertThat(values(lost, false).get(queue.name())).as(seen).isEqualTo(neverLeft);
      assertThat(Math.abs(neverLeft - queue.dropped())).as(seen).isLessThanOrEqualTo(copiesLost);
      long leftBytes = (long) queue.left() * FourQueues.WIRE;
      assertThat(values(bytes, false).get(queue.name())).as(seen).isEqualTo(leftBytes);
      assertThat(values(deepest, true).get(queue.name()))
          .as(seen)
          .isGreaterThan(LOAD.queuePackets() / 2);
      dropped += queue.dropped();
      copies += queue.arrived() + queue.left();
    }
    assertThat(dropped).as("packets that did not fit into a queue").isPositive();
    assertThat(values(deepest, true).values()).anyMatch(max -> max > 0.9 * LOAD.queuePackets());
    // Each packet that left has two copies, each dropped one has one.
    assertThat(copiesLost).as("%s", queues).isEqualTo(2 * four.left() + dropped - copies);
    assertThat(copiesLost).isLessThan(LOAD.bursts() * LOAD.burstPackets() / 10);
    assertThat(values(plain, false).get("9000"))
        .as("%s", queues)
        .isEqualTo(arrivedFrom(SENDER, queues));
    four.network.stop(queries);
    assertThat(four.network.fabric.mirroring()).as("rules that remain").isEmpty();
    assertThat(four.network.fabric.switches()).isEqualTo(previousSwitches);
  }

  private static long arrivedFrom(String source, List<FourQueues.Queue> queues) {
    return queues.stream().mapToLong(queue -> queue.bySource().getOrDefault(source, 0L)).sum();
  }

  private static void assertMatchesTheKernel(FourQueues.Queue queue) {
    long max = (long) LOAD.queuePackets() * FourQueues.WIRE;
    String seen = queue.toString();
    assertThat(queue.matched()).as(seen).isGreaterThan(LOAD.bursts() * LOAD.burstPackets());
    assertThat(queue.matched()).as(seen).isGreaterThan(queue.arrived() * 8 / 10);
    assertThat(queue.bytes()).as(seen).anyMatch(polled -> polled > max / 5);
    assertThat(queue.error(0.5)).as(seen).isLessThan(2L * FourQueues.WIRE);
    assertThat(queue.error(0.9)).as(seen).isLessThan(10L * FourQueues.WIRE);
    assertThat(queue.alertNs()).as(seen).hasSizeGreaterThanOrEqualTo(MIN_BURSTS);
    assertThat(FourQueues.quantile(queue.alertNs(), 0.5))
        .as(seen)
        .isLessThan(TimeUnit.SECONDS.toNanos(1));
  }

  @Test
  void aQueueThatNoMonitorSeesOnBothSidesIsRefused() throws Exception {
    String depth =
        "PARSE queue_depth FROM * TO * AT %s LIMIT 9s SAMPLE * PROCESS (group-sum: group=queue, by=lost)";
    List<String> submit = new ArrayList<>(List.of("query", "submit"));
    submit.add(depth.formatted("edge-0-0:h-0-0-1"));
    submit.addAll(List.of("--server", four.network.server().url()));
    Cli.Result toHost = Cli.run(submit.toArray(String[]::new));
    assertThat(toHost.exitCode()).isNotZero();
    assertThat(toHost.stderr())
        .contains("edge-0-0:h-0-0-1 leads to the host h-0-0-1, where no switch can copy departures")
        .contains("--tap edge-0-0:h-0-0-1:departures=INTERFACE");

    Map<String, String> previousSwitches = four.network.fabric.switches();
    String down = four.network.submit(depth.formatted("core-0:aggregation-0-0"));
    Fabric.await(
        "it has failed",
        () -> four.network.get("/queries/" + down).path("state").asText().equals("failed"));
    assertThat(four.network.get("/queries/" + down).path("error").asText())
        .contains("no monitor can see both sides of queue core-0:aggregation-0-0")
        .contains("Hosts with an agent: " + String.join(", ", FourQueues.MONITORS));
    assertThat(four.network.fabric.switches()).isEqualTo(previousSwitches);
  }
}
