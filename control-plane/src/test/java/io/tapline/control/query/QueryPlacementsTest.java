package io.tapline.control.query;

import static org.assertj.core.api.Assertions.assertThat;

import io.tapline.compiler.Inventory;
import io.tapline.compiler.network.Network;
import io.tapline.schema.proto.Address;
import io.tapline.schema.proto.Match;
import java.util.Optional;
import org.junit.jupiter.api.Test;

class QueryPlacementsTest {
  private static final String YAML =
      """
      hosts: {web: 10.0.1.1, db: 10.0.2.1}
      network: {switches: {leaf1: [web], leaf2: [db]}, links: [[leaf1, leaf2]]}
      """;
  private static final Optional<Network> NETWORK = Network.fromYaml(YAML, Inventory.fromYaml(YAML));

  private static Match to(String prefix) {
    return Match.newBuilder().addTo(Address.newBuilder().setPrefix(prefix)).build();
  }

  @Test
  void aQueryIsThereFromAddToRemove() {
    QueryPlacements placements = new QueryPlacements(NETWORK);
    assertThat(placements.tried("q", to("10.0.1.1/32")).plan()).isPresent();
    assertThat(placements.find("q")).isEmpty();
    assertThat(placements.add("q", to("10.0.1.1/32")).plan()).isPresent();
    assertThat(placements.find("q").orElseThrow().tables()).containsOnlyKeys("leaf1");
    assertThat(placements.tried("p", to("10.0.2.1/32")).plan().orElseThrow().tables())
        .containsOnlyKeys("leaf1", "leaf2");
    placements.remove("q");
    placements.remove("q");
    assertThat(placements.find("q")).isEmpty();
    assertThat(placements.tried("p", to("10.0.2.1/32")).plan().orElseThrow().tables())
        .containsOnlyKeys("leaf2");
  }

  @Test
  void whatHasNoPlaceIsRefusedInWords() {
    QueryPlacements placements = new QueryPlacements(NETWORK);
    assertThat(placements.add("q", to("192.0.2.1/32")).refusal())
        .isEqualTo(
            "not placed in the inventory's network: no address of the query is one of a host in the inventory's network");
    assertThat(placements.find("q")).isEmpty();
  }

  @Test
  void withoutANetworkThereIsNothingToSay() {
    QueryPlacements placements = new QueryPlacements(Optional.empty());
    assertThat(placements.add("q", to("10.0.1.1/32"))).isEqualTo(QueryPlacements.Outcome.NOTHING);
    placements.remove("q");
  }
}
