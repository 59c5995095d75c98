package io.tapline.control.query;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.tuple;

import io.tapline.compiler.Inventory;
import io.tapline.compiler.network.NetworkSection;
import io.tapline.compiler.network.Traffic;
import io.tapline.control.registry.AgentState;
import io.tapline.control.registry.AgentTap;
import io.tapline.schema.proto.Monitor;
import io.tapline.schema.proto.ParserArgument;
import io.tapline.schema.proto.Plan;
import io.tapline.schema.proto.Queue;
import io.tapline.schema.proto.Rule;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

class TrafficCollectorsTest {
  private static final Plan PLAN = plan("edge");
  private static final Map<String, Set<String>> PORTS =
      Map.of("leaf1", Set.of("c1", "c2", "h1"), "leaf2", Set.of("c1", "c2"), "spine", Set.of("c1"));

  private static Plan plan(String... vantages) {
    Plan.Builder plan = Plan.newBuilder().setQuery("q");
    for (String vantage : vantages) {
      plan.addArguments(ParserArgument.newBuilder().setName("every").setValue("1000000000"));
      plan.addArguments(ParserArgument.newBuilder().setName("vantage").setValue(vantage));
    }
    return plan.build();
  }

  /** Returns an agent with these taps, each given as SWITCH or SWITCH:PORT. */
  private static AgentState agent(String name, boolean isUp, String... taps) {
    List<AgentTap> all =
        Stream.of(taps)
            .map(tap -> (tap + ":").split(":", -1))
            .map(split -> new AgentTap(split[0], split[1], "", "mon0"))
            .toList();
    return new AgentState(
        name, isUp, 0, "1", "", all, false, true, 1, List.of(), "", 0, 1, 0, null, List.of());
  }

  private static Map<String, String> find(AgentState... agents) {
    return TrafficCollectors.find(PLAN, List.of(agents), name -> PORTS.getOrDefault(name, Set.of()))
        .collectors();
  }

  @Test
  void anAgentCollectsTheSwitchesOfItsTaps() {
    assertThat(find(agent("c2", true, "leaf1", "leaf2"), agent("c1", true, "leaf1", "spine")))
        .isEqualTo(Map.of("leaf1", "c1", "leaf2", "c2", "spine", "c1"));
  }

  @Test
  void tapsThatCantCollectGetNoCopies() {
    assertThat(find(agent("c1", false, "leaf1"))).as("without a lease").isEmpty();
    assertThat(find(agent("c1", true, "leaf1:3"))).as("tap of a port").isEmpty();
    assertThat(find(agent("c2", true, "spine")))
        .as("no port in the inventory leads to the agent")
        .isEmpty();
    assertThat(find(agent("h1", true))).as("without taps").isEmpty();
  }

  @Test
  void queriesThatNameAVantageWantAllTraffic() {
    assertThat(TrafficCollectors.wants(PLAN)).isTrue();
    assertThat(TrafficCollectors.wants(plan())).isFalse();
    Plan queues = PLAN.toBuilder().addQueues(Queue.newBuilder().setSwitchName("leaf1")).build();
    assertThat(TrafficCollectors.wants(queues)).isFalse();
    assertThat(TrafficCollectors.find(plan("all", "edge"), List.of(), name -> Set.of()).vantage())
        .isEqualTo(Traffic.Vantage.ALL);
  }

  @Test
  void aPlanRemembersItsCollectors() {
    Traffic traffic =
        new Traffic(Traffic.Vantage.EDGE, Map.of("spine", "c1", "leaf1", "c1", "leaf2", "c0"));
    Rule rule = Rule.newBuilder().setSwitchId("leaf1").build();
    Plan placedPlan =
        TrafficCollectors.placed(
            PLAN.toBuilder().addMonitors(Monitor.newBuilder().setHost("local")).build(),
            traffic,
            List.of(rule));
    assertThat(placedPlan.getMonitorsList())
        .extracting(
            Monitor::getHost,
            Monitor::getPartition,
            monitorPart -> List.copyOf(monitorPart.getSwitchesList()))
        .containsExactly(
            tuple("c0", 0, List.of("leaf2")), tuple("c1", 1, List.of("leaf1", "spine")));
    assertThat(placedPlan.getRulesList()).containsExactly(rule);
    assertThat(TrafficCollectors.has(placedPlan)).isTrue();
    assertThat(TrafficCollectors.has(PLAN)).isFalse();
    assertThat(TrafficCollectors.traffic(placedPlan)).isEqualTo(traffic);
  }

  /**
   * Tests that traffic is copied until its query is released, even if its collector, a host outside
   * the network, dies.
   */
  @Test
  void trafficIsCopiedUntilItsQueryIsReleased() {
    String yaml =
        """
        hosts: {web: 10.0.1.1, db: 10.0.2.1}
        network:
          switches: {leaf1: [web], leaf2: [db]}
          links: [[leaf1, leaf2]]
          ports: {leaf1: {web: 1, leaf2: 2}, leaf2: {db: 1, leaf1: 2}}
        """;
    Inventory inventory = Inventory.fromYaml(yaml);
    QueryPlacements placements =
        new QueryPlacements(NetworkSection.fromYaml(yaml, inventory), inventory.ports());
    Traffic traffic = new Traffic(Traffic.Vantage.ALL, Map.of("leaf1", "c1"));
    QueryPlacements.CollectorRules preview = placements.previewTraffic("q", traffic);
    assertThat(preview.refusal()).isEmpty();
    assertThat(preview.rules()).hasSize(2);
    assertThat(placements.copiesFor("q")).isFalse();
    assertThat(placements.reserveTraffic("q", traffic)).isEqualTo(preview);
    placements.close("c1", Set.of("web", "db"));
    assertThat(placements.copiesFor("q")).isTrue();
    Traffic otherTraffic = new Traffic(Traffic.Vantage.EDGE, Map.of("leaf1", "c1"));
    assertThat(placements.reserveTraffic("p", otherTraffic).refusal())
        .startsWith("query q is running with vantage=all");
    placements.release("q");
    assertThat(placements.copiesFor("q")).isFalse();
    assertThat(placements.monitorsAt("leaf1")).isEmpty();
    assertThat(new QueryPlacements(Optional.empty()).reserveTraffic("q", traffic))
        .isEqualTo(new QueryPlacements.CollectorRules(List.of(), "the inventory has no network"));
  }
}
