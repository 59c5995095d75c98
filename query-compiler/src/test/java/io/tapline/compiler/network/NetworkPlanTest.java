package io.tapline.compiler.network;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.tapline.compiler.Inventory;
import io.tapline.network.Network;
import io.tapline.network.rules.MirrorPlanner;
import io.tapline.placement.Layouts;
import io.tapline.placement.PlacementException;
import io.tapline.schema.proto.Address;
import io.tapline.schema.proto.Match;
import io.tapline.schema.proto.Rule;
import java.util.List;
import org.junit.jupiter.api.Test;

class NetworkPlanTest {
  private static final String YAML =
      """
      hosts:
        web1: 10.0.1.1
        web2: 10.0.1.2
        db: 10.0.2.1
        spare: 10.0.2.2
      network:
        switches: {leaf1: [web1, web2], leaf2: [db, spare], spine: []}
        links: [[leaf1, spine], [leaf2, spine]]
      """;
  private static final Network NETWORK =
      NetworkSection.fromYaml(YAML, Inventory.fromYaml(YAML)).orElseThrow();

  private static Address address(String prefix, int port) {
    return Address.newBuilder().setPrefix(prefix).setPort(port).build();
  }

  @Test
  void aOneSidedQueryIsMirroredAtTheNamedSide() {
    Match match = Match.newBuilder().addTo(address("10.0.1.0/24", 80)).build();
    NetworkPlan plan = NetworkPlan.of(NETWORK, "q", match);
    assertThat(Layouts.violations(plan.problem(), plan.layout())).isEmpty();
    assertThat(plan.side()).isEqualTo(MirrorPlanner.Side.TO);
    assertThat(plan.tables()).containsOnlyKeys("leaf1");
    List<Rule> rules = plan.placed().rules();
    assertThat(rules).extracting(Rule::getMatch).contains("tcp,nw_dst=10.0.1.1/32,tp_dst=80");
    assertThat(rules)
        .allSatisfy(
            rule ->
                assertThat(rule.getActionsList())
                    .containsExactly("output:monitor-0", "goto_table:forwarding"));
    assertThat(plan.placed().monitors())
        .singleElement()
        .satisfies(monitor -> assertThat(monitor.getHost()).startsWith("web"));
  }

  @Test
  void theCheaperOfTwoNamedSidesMirrors() {
    Match match =
        Match.newBuilder()
            .addFrom(address("10.0.2.1/32", 0))
            .addTo(address("10.0.1.1/32", 80))
            .addTo(address("10.0.2.2/32", 80))
            .build();
    NetworkPlan plan = NetworkPlan.of(NETWORK, "q", match);
    assertThat(plan.side()).isEqualTo(MirrorPlanner.Side.FROM);
    assertThat(plan.layout().monitors()).hasSize(1);
    assertThat(plan.tables()).containsOnlyKeys("leaf2");
  }

  @Test
  void aNetworkWideQueryIsMirroredAtAllEdges() {
    NetworkPlan plan = NetworkPlan.of(NETWORK, "q", Match.getDefaultInstance());
    assertThat(plan.tables()).containsOnlyKeys("leaf1", "leaf2");
  }

  @Test
  void unknownAddressesAreAnError() {
    Match match = Match.newBuilder().addTo(address("192.0.2.0/24", 80)).build();
    assertThatThrownBy(() -> NetworkPlan.of(NETWORK, "q", match))
        .isInstanceOf(PlacementException.class)
        .hasMessage("no host in the inventory's network has an address that the query names");
  }

  @Test
  void explanationsShowLocationAndCost() {
    Match match = Match.newBuilder().addTo(address("10.0.0.0/8", 80)).build();
    NetworkPlan plan = NetworkPlan.of(NETWORK, "q", match);
    assertThat(NetworkExplain.text(plan))
        .contains(
            "monitor-0 on ", "aggregator-0 on ", "processor-0 on ", "extra traffic, host links");
    assertThat(NetworkExplain.json(plan).path("extra_bps").path("host").asLong())
        .isGreaterThanOrEqualTo(plan.cost().mirrorBps());
    assertThat(TreeDrawing.svg(plan)).startsWith("<svg").contains("leaf1", "monitor-0", "</svg>");
  }

  @Test
  void invalidNetworksAreErrors() {
    String wrong = "network: {switches: {a: [h1]}, links: [[a, b]]}";
    assertThatThrownBy(() -> NetworkSection.fromYaml(wrong, Inventory.empty()))
        .hasMessage("inventory, network: there is no switch b");
    assertThatThrownBy(
            () -> NetworkSection.fromYaml(YAML + "  rates_mbps: {web1: fast}", Inventory.empty()))
        .hasMessage("inventory, network: rates_mbps of web1 is 'fast', not a number of Mbit/s");
    assertThatThrownBy(
            () -> NetworkSection.fromYaml(YAML + "  rates_mbps: {x: 1}", Inventory.empty()))
        .hasMessage("inventory, network: rates_mbps names x, which is not one of its hosts");
    assertThat(NetworkSection.fromYaml("hosts: {h1: 10.0.0.1}", Inventory.empty())).isEmpty();
  }
}
