package io.tapline.compiler.network;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.tapline.compiler.Inventory;
import io.tapline.network.IpPrefix;
import io.tapline.network.Network;
import io.tapline.network.rules.CopyMark;
import io.tapline.network.rules.MirrorRule;
import io.tapline.network.rules.RuleMatch;
import io.tapline.placement.PlacementException;
import io.tapline.schema.proto.Address;
import io.tapline.schema.proto.Match;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;

/** Tests switches that copy all traffic, in a network of a spine, two leaves and three hosts. */
class TrafficCopiesTest {
  private static final String YAML =
      """
      hosts: {h1: 10.0.1.1, h2: 10.0.1.2, h3: 10.0.2.1}
      network:
        switches: {leaf1: [h1, h2], leaf2: [h3], spine: []}
        links: [[leaf1, spine], [leaf2, spine]]
        ports:
          leaf1: {h1: 1, h2: 2, spine: 3}
          leaf2: {h3: 1, spine: 2}
          spine: {leaf1: 1, leaf2: 2}
      """;
  private static final Map<String, String> ALL_SWITCHES =
      Map.of("leaf1", "collector", "leaf2", "collector", "spine", "collector");
  private static final Traffic EDGE = new Traffic(Traffic.Vantage.EDGE, ALL_SWITCHES);
  private static final Traffic ALL = new Traffic(Traffic.Vantage.ALL, ALL_SWITCHES);

  private final NetworkState empty = empty(YAML);

  private static NetworkState empty(String yaml) {
    Inventory inventory = Inventory.fromYaml(yaml);
    Network network = NetworkSection.fromYaml(yaml, inventory).orElseThrow();
    return NetworkState.empty(network, inventory.ports());
  }

  private static RuleMatch.Header packet(
      String source, String destination, int port, String in, String out) {
    return new RuleMatch.Header(
        IpPrefix.of(source), IpPrefix.of(destination), 6, 40_000, port, 0, 0, in, out);
  }

  /** Returns the marks of a packet's marked copies, and the hosts that get unmarked copies. */
  private static List<String> copies(
      NetworkState state, String switchName, RuleMatch.Header packet) {
    return state.tables().containsKey(switchName)
        ? state.tables().get(switchName).monitors(packet).stream()
            .map(
                monitor ->
                    state.marks().containsKey(monitor)
                        ? "%012x".formatted(state.marks().get(monitor))
                        : state.monitorHosts().get(monitor))
            .sorted()
            .toList()
        : List.of();
  }

  @Test
  void theFirstSwitchCopiesAPacketWithBothItsPorts() {
    NetworkState state = empty.copy("q", EDGE).after();
    RuleMatch.Header up = packet("10.0.1.2", "10.0.2.1", 80, "2", "3");
    assertThat(copies(state, "leaf1", up)).containsExactly("027a92002003");
    assertThat(copies(state, "spine", packet("10.0.1.2", "10.0.2.1", 80, "1", "2"))).isEmpty();
    assertThat(copies(state, "leaf2", packet("10.0.1.2", "10.0.2.1", 80, "2", "1"))).isEmpty();
    // The mark omits the port to h2: packets from other switches also leave through it, so these
    // copies do not show its load.
    RuleMatch.Header local = packet("10.0.1.1", "10.0.1.2", 80, "1", "2");
    assertThat(copies(state, "leaf1", local)).containsExactly("027a92001000");
    assertThat(state.tables()).containsOnlyKeys("leaf1", "leaf2");
    assertThat(new TreeSet<>(state.monitorHosts().values())).containsExactly("collector");
    assertThat(state.rules("q")).hasSize(5).allMatch(rule -> rule.getActionsCount() == 2);
  }

  @Test
  void eachSwitchCopiesAPacketWithThePortByWhichItLeaves() {
    NetworkState state = empty.copy("q", ALL).after();
    assertThat(copies(state, "leaf1", packet("10.0.1.2", "10.0.2.1", 80, "2", "3")))
        .containsExactly("027a92000003");
    assertThat(copies(state, "spine", packet("10.0.1.2", "10.0.2.1", 80, "1", "2")))
        .containsExactly("027a92000002");
    assertThat(copies(state, "leaf2", packet("10.0.1.2", "10.0.2.1", 80, "2", "1")))
        .containsExactly("027a92000001");
  }

  @Test
  void aPacketThatAnotherQueryWantsIsCopiedOnceToEach() {
    Match match = Match.newBuilder().addTo(Address.newBuilder().setPrefix("10.0.1.1/32")).build();
    NetworkState plainState = empty.using(Set.of("h2")).add("plain", match).after();
    for (Traffic traffic : List.of(EDGE, ALL)) {
      NetworkState bothState = plainState.copy("q", traffic).after().copy("p", traffic).after();
      RuleMatch.Header wantedHeader = packet("10.0.1.2", "10.0.1.1", 80, "2", "1");
      assertThat(copies(bothState, "leaf1", wantedHeader))
          .hasSize(2)
          .contains("h2")
          .anyMatch(mark -> mark.startsWith("027a92"));
      NetworkState one = bothState.remove("p").after();
      assertThat(copies(one, "leaf1", wantedHeader))
          .isEqualTo(copies(bothState, "leaf1", wantedHeader));
      NetworkState after = one.remove("q").after();
      assertThat(after.rules("plain")).isEqualTo(plainState.rules("plain"));
      assertThat(after.tables()).containsOnlyKeys("leaf1");
      assertThat(after.marks()).isEmpty();
      assertThat(after.copiesFor("q")).isFalse();
    }
  }

  @Test
  void severalCollectorsGetTheSwitchesOfTheirTaps() {
    Traffic two = new Traffic(Traffic.Vantage.ALL, Map.of("leaf1", "c1", "spine", "c2"));
    NetworkState state = empty.copy("q", two).after();
    Map<String, Set<String>> hosts = new HashMap<>();
    state
        .tables()
        .forEach(
            (name, table) ->
                hosts.put(
                    name,
                    table.rules().stream()
                        .map(MirrorRule::monitors)
                        .flatMap(Set::stream)
                        .map(state.monitorHosts()::get)
                        .collect(Collectors.toSet())));
    assertThat(hosts).isEqualTo(Map.of("leaf1", Set.of("c1"), "spine", Set.of("c2")));
  }

  @Test
  void queriesThatRunTogetherChooseOneVantage() {
    NetworkState state = empty.copy("q", EDGE).after();
    assertThatThrownBy(() -> state.copy("p", ALL))
        .isInstanceOf(PlacementException.class)
        .hasMessage(
            "query q is running with vantage=edge, and switches support one vantage at a time: use the same one, or stop that query");
    assertThat(state.remove("q").after().copy("p", ALL).after().copiesFor("p")).isTrue();
  }

  @Test
  void portsNeedNumbers() {
    NetworkState unnumbered = empty(YAML.replace("    spine: {leaf1: 1, leaf2: 2}\n", ""));
    assertThatThrownBy(() -> unnumbered.copy("q", ALL))
        .hasMessage(
            "copies are marked with port numbers, but network.ports in the inventory has no number from 1 to 4095 for the port from spine to leaf1");
    NetworkState large = empty(YAML.replace("{h3: 1,", "{h3: 4096,"));
    assertThatThrownBy(() -> large.copy("q", EDGE)).hasMessageContaining("from leaf2 to h3");
    assertThat(CopyMark.ports(1, CopyMark.MAX_PORT)).isEqualTo(0x027a92001fffL);
    assertThat(CopyMark.isPorts(CopyMark.ports(0, 1))).isTrue();
    assertThat(CopyMark.isMark(CopyMark.ports(0, 1))).isFalse();
    assertThat(CopyMark.isPorts(CopyMark.arrivals(1))).isFalse();
  }
}
