package io.tapline.compiler.network;

import static org.assertj.core.api.Assertions.assertThat;

import io.tapline.compiler.Inventory;
import io.tapline.compiler.network.StreamPlanner.Broker;
import io.tapline.compiler.network.StreamPlanner.Cluster;
import io.tapline.network.LinkLevel;
import io.tapline.network.Network;
import io.tapline.schema.proto.Leader;
import io.tapline.schema.proto.Match;
import io.tapline.schema.proto.Stream;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Random;
import java.util.Set;
import org.junit.jupiter.api.Test;

class StreamPlannerTest {
  /** A fat tree of four pods; h-0-0-0 is 10.0.0.2. */
  private static final Network NETWORK = network();

  private static final Cluster NEAR = new Cluster("near", List.of("h-0-1-0"), 1);
  private static final Cluster FAR = new Cluster("far", List.of("h-3-1-0", "h-3-1-1"), 1);
  private static final List<Broker> BROKERS =
      List.of(new Broker(1, "h-0-0-1"), new Broker(2, "h-3-1-0"), new Broker(3, ""));

  private static Network network() {
    StringBuilder yaml = new StringBuilder("hosts:\n");
    for (int host = 0; host < 16; host++) {
      int pod = host / 4;
      int edge = host / 2 % 2;
      int number = host % 2;
      yaml.append(
          "  h-%d-%d-%d: 10.%d.%d.%d\n".formatted(pod, edge, number, pod, edge, number + 2));
    }
    yaml.append("network: {fat_tree: 4}\n");
    Inventory inventory = Inventory.fromYaml(yaml.toString());
    return NetworkSection.fromYaml(yaml.toString(), inventory).orElseThrow();
  }

  private static Stream choose(List<String> monitors, Cluster... clusters) {
    return StreamPlanner.choose(NETWORK, "q", monitors, BROKERS, List.of(clusters));
  }

  @Test
  void eachPartitionIsLedAndTheJobRunsNearItsMonitors() {
    Stream stream = choose(List.of("h-0-0-0", "h-0-0-1"), FAR, NEAR);
    assertThat(stream.getCluster()).isEqualTo("near");
    assertThat(stream.getHostsList()).containsExactly("h-0-1-0");
    assertThat(stream.getLeadersList())
        .extracting(Leader::getHost)
        .containsExactly("h-0-0-1", "h-0-0-1");
    Stream otherStream = choose(List.of("h-3-0-0"), FAR, NEAR);
    assertThat(otherStream.getCluster()).isEqualTo("far");
    assertThat(otherStream.getLeaders(0).getBroker()).isEqualTo(2);
  }

  @Test
  void distancesToJobAndBrokerCountEqually() {
    // The monitor's local broker is no worse than others: tuples must cross to the other pod
    // anyway.
    assertThat(choose(List.of("h-0-0-1"), FAR).getLeaders(0).getBroker()).isEqualTo(1);
    // From a third pod, the broker next to the job has the shorter path.
    assertThat(choose(List.of("h-1-0-0"), FAR).getLeaders(0).getBroker()).isEqualTo(2);
  }

  @Test
  void aFullClusterIsUsedOnlyIfAllAreFull() {
    Cluster full = new Cluster("near", NEAR.hosts(), 0);
    assertThat(choose(List.of("h-0-0-0"), full, FAR).getCluster()).isEqualTo("far");
    assertThat(choose(List.of("h-0-0-0"), full).getCluster()).isEqualTo("near");
  }

  @Test
  void servicesOutsideOfTheNetworkHaveNoDistance() {
    Stream stream =
        StreamPlanner.choose(
            NETWORK,
            "q",
            List.of("h-0-0-0"),
            List.of(new Broker(1, ""), new Broker(2, "")),
            List.of(new Cluster("small", List.of(), 1), new Cluster("large", List.of(), 9)));
    assertThat(stream.getLeadersList()).isEmpty();
    assertThat(stream.getCluster()).as("the one with more free slots").isEqualTo("large");
    assertThat(StreamPlanner.choose(NETWORK, "q", List.of("h-0-0-0"), BROKERS, List.of()))
        .isEqualTo(Stream.getDefaultInstance());
  }

  @Test
  void queriesShareEquidistantBrokers() {
    List<Broker> twins = List.of(new Broker(1, "h-0-0-1"), new Broker(2, "h-0-0-1"));
    Set<Integer> leaders = new HashSet<>();
    for (int query = 0; query < 20; query++) {
      Stream stream =
          StreamPlanner.choose(NETWORK, "q" + query, List.of("h-0-0-0"), twins, List.of(NEAR));
      leaders.add(stream.getLeaders(0).getBroker());
    }
    assertThat(leaders).containsExactlyInAnyOrder(1, 2);
  }

  @Test
  void noAlternativeIsNearer() {
    Random random = new Random(4);
    for (int round = 0; round < 200; round++) {
      List<Broker> brokers = new ArrayList<>();
      for (int id = 0; id < 1 + random.nextInt(4); id++) {
        brokers.add(new Broker(id, anyHost(random)));
      }
      List<Cluster> clusters = new ArrayList<>();
      for (int c = 0; c < 1 + random.nextInt(3); c++) {
        clusters.add(new Cluster("c" + c, List.of(anyHost(random), anyHost(random)), 1));
      }
      List<String> monitors = List.of(anyHost(random), anyHost(random));
      Stream stream = StreamPlanner.choose(NETWORK, "q", monitors, brokers, clusters);
      double min = Double.MAX_VALUE;
      for (Cluster cluster : clusters) {
        for (Broker first : brokers) {
          for (Broker second : brokers) {
            List<String> leaders = List.of(first.host(), second.host());
            min = Math.min(min, length(monitors, leaders, cluster.hosts()));
          }
        }
      }
      List<String> leaders = stream.getLeadersList().stream().map(Leader::getHost).toList();
      assertThat(length(monitors, leaders, stream.getHostsList())).isEqualTo(min);
    }
  }

  private static String anyHost(Random random) {
    return "h-%d-%d-%d".formatted(random.nextInt(4), random.nextInt(2), random.nextInt(2));
  }

  private static double length(List<String> monitors, List<String> leaders, List<String> job) {
    double length = 0;
    for (int i = 0; i < monitors.size(); i++) {
      String leader = leaders.get(i);
      length += weight(monitors.get(i), leader);
      length += job.stream().mapToDouble(host -> weight(leader, host)).average().orElseThrow();
    }
    return length;
  }

  /**
   * Returns the weight of a path. Links have weight 1 below edge switches, 2 below aggregation
   * switches, and 4 above.
   */
  private static int weight(String a, String b) {
    if (a.equals(b)) {
      return 0;
    }
    boolean samePod = a.charAt(2) == b.charAt(2);
    boolean sameEdge = samePod && a.charAt(4) == b.charAt(4);
    return sameEdge ? 2 : samePod ? 6 : 14;
  }

  @Test
  void hostsAreFoundByNameAndAddress() {
    assertThat(NETWORK.hostOf("h-2-1-0")).contains("h-2-1-0");
    assertThat(NETWORK.hostOf("10.2.1.2")).contains("h-2-1-0");
    assertThat(NETWORK.hostOf("kafka-1")).isEmpty();
    assertThat(NETWORK.hostOf("")).isEmpty();
  }

  @Test
  void aPlanContainsTheActualPathOfItsTuples() {
    Match match =
        Match.newBuilder()
            .addTo(io.tapline.schema.proto.Address.newBuilder().setPrefix("10.0.0.2/32"))
            .build();
    NetworkPlan plan = NetworkPlan.of(NETWORK, "q", match);
    List<String> monitors = List.copyOf(plan.parts().keySet());
    Stream stream = choose(monitors, FAR);
    NetworkPlan realPlan = StreamLayout.of(plan, stream);
    assertThat(realPlan.layout().processors())
        .extracting(process -> realPlan.hostName(process))
        .containsExactly("h-3-1-0", "h-3-1-1");
    assertThat(realPlan.layout().aggregators())
        .extracting(process -> realPlan.hostName(process))
        .containsExactly(stream.getLeaders(0).getHost());
    assertThat(realPlan.cost().mirrorBps()).isEqualTo(plan.cost().mirrorBps());
    assertThat(plan.cost().levelBps().get(LinkLevel.CORE)).isZero();
    assertThat(realPlan.cost().levelBps().get(LinkLevel.CORE)).isPositive();
    assertThat(NetworkExplain.text(realPlan)).contains("processor-1 on h-3-1-1");
    assertThat(StreamLayout.of(plan, Stream.getDefaultInstance())).isSameAs(plan);
  }
}
