package io.tapline.compiler.network;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.tapline.compiler.Inventory;
import io.tapline.network.Network;
import io.tapline.network.rules.CopyMark;
import io.tapline.network.rules.MirrorRule;
import io.tapline.network.rules.RuleMatch;
import io.tapline.placement.PlacementException;
import io.tapline.schema.proto.Address;
import io.tapline.schema.proto.Match;
import io.tapline.schema.proto.Queue;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.Test;

/**
 * Tests which switches copy a queue's packets, and where to, in a network of two spines and three
 * leaves with one host each.
 */
class QueueCopiesTest {
  private static final String YAML =
      """
      hosts: {h1: 10.0.1.1, h2: 10.0.2.1, h3: 10.0.3.1}
      network:
        switches: {leaf1: [h1], leaf2: [h2], leaf3: [h3], spine1: [], spine2: []}
        links:
          - [leaf1, spine1]
          - [leaf2, spine1]
          - [leaf2, spine1]
          - [leaf3, spine1]
          - [leaf1, spine2]
        ports:
          leaf2: {h2: 1, spine1: [7, 8]}
          spine1: {leaf1: 1, leaf2: [2, 3], leaf3: 4}
      """;
  private static final Set<String> HOSTS = Set.of("h1", "h2", "h3");
  private final Inventory inventory = Inventory.fromYaml(YAML);
  private final Network network = NetworkSection.fromYaml(YAML, inventory).orElseThrow();
  private final NetworkState empty = NetworkState.empty(network, inventory.ports());

  private static Queue queue(String name, String port) {
    return Queue.newBuilder().setSwitchName(name).setPort(port).build();
  }

  private static List<RuleMatch> matches(NetworkState state, String name) {
    return state.tables().get(name).rules().stream().map(MirrorRule::match).toList();
  }

  @Test
  void bothEndsOfTheLinkCopyToOneHost() {
    List<Queue> placedQueues = empty.place(List.of(queue("leaf1", "spine1")), HOSTS);
    assertThat(placedQueues).singleElement().extracting(Queue::getHost).isEqualTo("h1");
    NetworkState state = empty.copy("q", placedQueues).after();
    assertThat(state.tables()).containsOnlyKeys("leaf1", "spine1");
    assertThat(matches(state, "leaf1")).containsExactly(RuleMatch.leaving("spine1"));
    assertThat(matches(state, "spine1")).containsExactly(RuleMatch.entering("1"));
    assertThat(state.marks().values())
        .containsExactlyInAnyOrder(CopyMark.arrivals(1), CopyMark.departures(1));
    assertThat(state.monitorHosts().values()).containsOnly("h1");
    assertThat(state.copiesFor("q")).isTrue();
    assertThat(state.rules("q")).hasSize(2);
    NetworkState after = state.remove("q").after();
    assertThat(after.tables()).isEmpty();
    assertThat(after.marks()).isEmpty();
    assertThat(after.copiesFor("q")).isFalse();
  }

  /** The ports of parallel links are paired in the order in which the inventory lists them. */
  @Test
  void parallelLinksAreDistinguishedByPort() {
    NetworkState state = empty.copy("q", empty.place(List.of(queue("leaf2", "8")), HOSTS)).after();
    assertThat(matches(state, "leaf2")).containsExactly(RuleMatch.leaving("8"));
    assertThat(matches(state, "spine1")).containsExactly(RuleMatch.entering("3"));
  }

  /** Copies of arrivals must not wait in the queue that they measure. */
  @Test
  void aSpinesQueueIsMeasuredUnderAnotherLeaf() {
    Queue down = queue("spine1", "1");
    assertThat(empty.place(List.of(down), HOSTS).get(0).getHost()).isEqualTo("h2");
    assertThat(empty.place(List.of(down), Set.of("h1", "h3")).get(0).getHost()).isEqualTo("h3");
    assertThatThrownBy(() -> empty.place(List.of(down), Set.of("h1")))
        .isInstanceOf(PlacementException.class)
        .hasMessage(
            "no monitor can see both sides of queue spine1:1: the host must receive copies of arrivals from spine1 without crossing leaf1. Hosts with an agent: h1");
    assertThatThrownBy(() -> empty.place(List.of(down), Set.of()))
        .hasMessageEndingWith("Hosts with an agent: none");
  }

  @Test
  void aQueueOfSeveralQueriesIsCopiedOnce() {
    List<Queue> one = empty.place(List.of(queue("leaf1", "spine1")), HOSTS);
    NetworkState first = empty.copy("one", one).after();
    List<Queue> two =
        first.place(List.of(queue("leaf1", "spine2"), queue("leaf1", "spine1")), HOSTS);
    assertThat(two).extracting(Queue::getMark).containsExactly(2, 1);
    NetworkState bothState = first.copy("two", two).after();
    assertThat(bothState.marks()).hasSize(4);
    NetworkState second = bothState.remove("one").after();
    assertThat(second.tables().get("leaf1").rules())
        .allSatisfy(rule -> assertThat(rule.owners()).containsExactly("two"));
    assertThat(second.place(List.of(queue("spine1", "4")), Set.of("h1", "h2")))
        .extracting(Queue::getMark)
        .containsExactly(3);
  }

  @Test
  void otherQueriesKeepTheirCopies() {
    Match match = Match.newBuilder().addTo(Address.newBuilder().setPrefix("10.0.1.1/32")).build();
    NetworkState plainState = empty.add("plain", match).after();
    NetworkState bothState =
        plainState.copy("q", plainState.place(List.of(queue("leaf1", "spine1")), HOSTS)).after();
    assertThat(bothState.tables().get("leaf1").rules())
        .filteredOn(rule -> rule.monitors().size() == 2)
        .isNotEmpty()
        .allSatisfy(rule -> assertThat(rule.match().hasPort()).isTrue());
    assertThat(bothState.remove("q").after().tables().get("leaf1").rules())
        .isEqualTo(plainState.tables().get("leaf1").rules());
  }
}
