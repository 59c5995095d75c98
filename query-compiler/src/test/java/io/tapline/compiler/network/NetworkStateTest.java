package io.tapline.compiler.network;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.tapline.compiler.Inventory;
import io.tapline.network.IpPrefix;
import io.tapline.network.Network;
import io.tapline.network.Rates;
import io.tapline.network.rules.RuleTable;
import io.tapline.network.rules.Transition;
import io.tapline.placement.PlacementException;
import io.tapline.schema.proto.Address;
import io.tapline.schema.proto.Match;
import io.tapline.schema.proto.Monitor;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class NetworkStateTest {
  private static final String YAML = yaml();
  private static final Network NETWORK =
      NetworkSection.fromYaml(YAML, Inventory.fromYaml(YAML)).orElseThrow();

  /** Returns an inventory: a fat tree (k=4) whose hosts have the addresses 10.POD.EDGE.HOST. */
  private static String yaml() {
    StringBuilder yaml = new StringBuilder("network: {fat_tree: 4}\nhosts:\n");
    for (int pod = 0; pod < 4; pod++) {
      for (int i = 0; i < 4; i++) {
        yaml.append("  h-%d-%d-%d: 10.%d.%d.%d\n".formatted(pod, i / 2, i % 2, pod, i / 2, i % 2));
      }
    }
    return yaml.toString();
  }

  private static Match match(Random random) {
    Match.Builder match = Match.newBuilder();
    int sides = 1 + random.nextInt(3);
    for (int i = 0; i <= random.nextInt(3); i++) {
      String prefix =
          "10.%d.%d.0/%d"
              .formatted(random.nextInt(4), random.nextInt(2), 8 + 8 * random.nextInt(3));
      Address address =
          Address.newBuilder()
              .setPrefix(IpPrefix.of(prefix).toString())
              .setPort(random.nextInt(2) * 80)
              .build();
      if (sides != 1) {
        match.addFrom(address);
      }
      if (sides != 2) {
        match.addTo(address.toBuilder().setPrefix("10.%d.0.0/16".formatted(random.nextInt(4))));
      }
    }
    return match.build();
  }

  private static Match between(String source, String destination) {
    return Match.newBuilder()
        .addFrom(Address.newBuilder().setPrefix(source))
        .addTo(Address.newBuilder().setPrefix(destination))
        .build();
  }

  @Test
  void onlyAvailableHostsGetMonitorsAndTheirSideMirrors() {
    NetworkState state = NetworkState.empty(NETWORK).using(Set.of("h-1-0-1"));
    state = state.add("q", between("10.1.0.0/32", "10.0.0.0/8")).after();
    assertThat(state.monitorHosts().values()).containsExactly("h-1-0-1");
    assertThat(state.tables().keySet()).containsExactly("edge-1-0");
    NetworkState without = state;
    assertThatThrownBy(() -> without.add("p", between("10.2.0.0/32", "10.3.0.0/32")))
        .isInstanceOf(PlacementException.class);
  }

  @Test
  void aNarrowedQueryKeepsItsPlacementAndCanBeWidenedAgain() {
    Match wantedMatch =
        Match.newBuilder().addTo(Address.newBuilder().setPrefix("10.1.0.0/32").setPort(80)).build();
    NetworkState wide = NetworkState.empty(NETWORK).add("q", wantedMatch).after();
    NetworkState narrow = wide.narrow("q", 2).after();
    assertThat(narrow.tables().get("edge-1-0").rules())
        .extracting(rule -> rule.match().toString())
        .containsExactlyInAnyOrder(
            "tcp,nw_dst=10.1.0.0/32,tp_src=0x0/0x6,tp_dst=80",
            "tcp,nw_src=10.1.0.0/32,tp_src=80,tp_dst=0x0/0x6",
            "udp,nw_dst=10.1.0.0/32,tp_src=0x0/0x6,tp_dst=80",
            "udp,nw_src=10.1.0.0/32,tp_src=80,tp_dst=0x0/0x6");
    assertThat(narrow.monitorHosts()).isEqualTo(wide.monitorHosts());
    assertThat(narrow.plan("q").parts()).isEqualTo(wide.plan("q").parts());
    NetworkState narrowed = narrow.narrow("q", 0).after();
    assertThat(narrowed.tables().get("edge-1-0").rules())
        .isEqualTo(wide.tables().get("edge-1-0").rules());
    assertThat(narrow.remove("q").after().tables()).isEmpty();
  }

  @Test
  void aLostHostsPartMovesUnderTheSameSwitch() {
    NetworkState state = NetworkState.empty(NETWORK).using(Set.of("h-1-0-0", "h-1-0-1", "h-2-0-0"));
    Match wantedMatch =
        Match.newBuilder()
            .addTo(Address.newBuilder().setPrefix("10.1.0.0/24").setPort(80))
            .addTo(Address.newBuilder().setPrefix("10.2.0.1/32").setPort(81))
            .build();
    state = state.add("q", wantedMatch).after();
    Map<String, Match> before = state.plan("q").parts();
    String lost = before.containsKey("h-1-0-0") ? "h-1-0-0" : "h-1-0-1";
    String remaining = lost.equals("h-1-0-0") ? "h-1-0-1" : "h-1-0-0";
    NetworkState after = state.close(lost).after();
    Map<String, Match> parts = after.plan("q").parts();
    assertThat(parts.keySet()).containsExactlyInAnyOrder(remaining, "h-2-0-0");
    assertThat(parts.get(remaining)).isEqualTo(before.get(lost));
    assertThat(after.tables().keySet()).isEqualTo(state.tables().keySet());
    assertThatThrownBy(() -> after.using(Set.of("h-2-0-0")).close(remaining))
        .isInstanceOf(PlacementException.class);
  }

  /** A monitor must count exactly the packets that the query's rules mirror to it. */
  @Test
  void partsCoverTheHostsUnderEachMonitorsSwitch() {
    NetworkState state = NetworkState.empty(NETWORK).using(Set.of("h-1-0-1", "h-2-0-0"));
    Match wantedMatch =
        Match.newBuilder()
            .addTo(Address.newBuilder().setPrefix("10.1.0.0/24").setPort(80))
            .addTo(Address.newBuilder().setPrefix("10.2.0.1/32").setPort(81))
            .build();
    Map<String, Match> parts = state.add("q", wantedMatch).after().plan("q").parts();
    assertThat(parts.keySet()).containsExactlyInAnyOrder("h-1-0-1", "h-2-0-0");
    assertThat(parts.get("h-1-0-1").getToList())
        .extracting(address -> address.getPrefix() + ":" + address.getPort())
        .containsExactlyInAnyOrder("10.1.0.0/32:80", "10.1.0.1/32:80");
    assertThat(parts.get("h-2-0-0").getToList())
        .extracting(address -> address.getPrefix() + ":" + address.getPort())
        .containsExactly("10.2.0.1/32:81");
  }

  /** The first of the two edge switches, in the network's order, must mirror the connection. */
  @Test
  void aConnectionBetweenTwoMonitorsBelongsToOne() {
    NetworkState state = NetworkState.empty(NETWORK).using(Set.of("h-1-0-1", "h-2-0-0"));
    Match.Builder wanted =
        Match.newBuilder()
            .addTo(Address.newBuilder().setPrefix("10.2.0.1/32"))
            .addTo(Address.newBuilder().setPrefix("10.1.0.0/32"));
    Map<String, Match> parts = state.add("q", wanted.build()).after().plan("q").parts();
    assertThat(parts.get("h-1-0-1").hasExcept()).isFalse();
    assertThat(parts.get("h-2-0-0").getExcept().getToList())
        .extracting(Address::getPrefix)
        .containsExactly("10.1.0.0/32");
    wanted.addFrom(Address.newBuilder().setPrefix("10.3.0.0/24"));
    state.add("p", wanted.build()).after().plan("p").parts().values().stream()
        .forEach(part -> assertThat(part.hasExcept()).as("no host is on both sides").isFalse());
  }

  /** Applies the steps of each change in order, as a switch would receive them. */
  @ParameterizedTest
  @ValueSource(longs = {1, 2, 3, 4, 5})
  void stepsLeadToTheTablesAndBack(long seed) {
    Random random = new Random(seed);
    NetworkState state = NetworkState.empty(NETWORK);
    Map<String, RuleTable> switches = new HashMap<>();
    for (int change = 0; change < 20; change++) {
      List<String> running = new ArrayList<>(state.queries());
      boolean removes = running.size() > 3 && random.nextBoolean();
      NetworkState.Change done =
          removes
              ? state.remove(running.get(random.nextInt(running.size())))
              : state.add("q" + change, match(random));
      apply(done, switches);
      state = done.after();
      assertThat(rules(switches)).isEqualTo(rules(state.tables()));
    }
    for (String query : List.copyOf(state.queries())) {
      NetworkState.Change done = state.remove(query);
      apply(done, switches);
      state = done.after();
    }
    assertThat(rules(switches)).isEmpty();
    assertThat(state.tables()).isEmpty();
  }

  private static void apply(NetworkState.Change change, Map<String, RuleTable> switches) {
    change
        .steps()
        .forEach(
            (id, steps) ->
                steps.forEach(
                    step ->
                        switches.put(
                            id,
                            Transition.apply(switches.getOrDefault(id, RuleTable.empty()), step))));
  }

  private static Map<String, Object> rules(Map<String, RuleTable> tables) {
    Map<String, Object> rules = new HashMap<>();
    tables.forEach(
        (id, table) -> {
          if (!table.rules().isEmpty()) {
            rules.put(id, table.rules());
          }
        });
    return rules;
  }

  @Test
  void runningPartsStayOnTheirHosts() {
    Match first = Match.newBuilder().addTo(Address.newBuilder().setPrefix("10.1.0.0/16")).build();
    Match second = Match.newBuilder().addTo(Address.newBuilder().setPrefix("10.2.0.0/16")).build();
    NetworkState one = NetworkState.empty(NETWORK).add("q1", first).after();
    List<Monitor> monitors = one.plan("q1").placed().monitors();
    NetworkState.Change addedChange = one.add("q2", second);
    assertThat(addedChange.started()).isPositive();
    assertThat(addedChange.steps()).allSatisfy((id, steps) -> assertThat(id).startsWith("edge-2-"));
    assertThat(addedChange.after().plan("q1").placed().monitors()).isEqualTo(monitors);
    assertThat(addedChange.after().plan("q2").placed().monitors())
        .doesNotContainAnyElementsOf(monitors);
    NetworkState.Change shared = addedChange.after().add("q3", first);
    assertThat(shared.started()).isZero();
    assertThat(shared.after().plan("q3").placed().monitors()).isEqualTo(monitors);
    assertThat(shared.after().tables().get("edge-1-0").rules())
        .allSatisfy(rule -> assertThat(rule.owners()).containsExactly("q1", "q3"));
  }

  @Test
  void measuredRatesDetermineTheNumberOfMonitors() {
    Match all = Match.newBuilder().addTo(Address.newBuilder().setPrefix("10.0.0.0/24")).build();
    NetworkPlan guessed = NetworkPlan.of(NETWORK, "q", all);
    assertThat(guessed.cost().mirrorBps()).isEqualTo(2 * Rates.DEFAULT_BPS);
    String counted =
        YAML.replace("fat_tree: 4", "fat_tree: 4, rates_mbps: {h-0-0-0: 9000, h-0-0-1: 2500.5}");
    Network network = NetworkSection.fromYaml(counted, Inventory.fromYaml(counted)).orElseThrow();
    NetworkPlan plan = NetworkPlan.of(network, "q", all);
    assertThat(plan.cost().mirrorBps()).isEqualTo(11_500_500_000L);
    assertThat(plan.placed().monitors().size()).isGreaterThan(guessed.placed().monitors().size());
    assertThat(NetworkExplain.text(plan)).contains("last traffic counters, of 2 of 2 hosts");
    assertThat(NetworkExplain.text(NetworkPlan.of(network.with(Rates.NONE), "q", all)))
        .contains("until traffic counters are available");
  }
}
