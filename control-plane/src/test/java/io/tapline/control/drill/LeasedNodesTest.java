package io.tapline.control.drill;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.tapline.control.drill.DrillException.Kind;
import io.tapline.control.drill.DrillService.Headers;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Tests real nodes that come and go with their agents' leases. */
class LeasedNodesTest {
  private static final Duration TIMEOUT = Duration.ofSeconds(30);

  @TempDir static Path folder;
  private static NodeProcess first;
  private static NodeProcess second;

  @BeforeAll
  static void start() throws Exception {
    Path capture = NodeProcess.capture("http_small.pcap.zst");
    first = NodeProcess.start(folder, "h1", capture);
    second = NodeProcess.start(folder, "h2", capture);
  }

  @AfterAll
  static void stop() throws Exception {
    first.close();
    second.close();
  }

  private static Headers headers(DrillService drill, String... nodes) throws DrillException {
    return drill.headers(new DrillRequest("", 0, 0, 5, List.of(nodes)));
  }

  @Test
  void aNodeJoinsAndLeavesWithTheLease() throws Exception {
    try (DrillService drill = new DrillService(List.of())) {
      LeasedNodes leases = new LeasedNodes(drill);
      assertThatThrownBy(() -> headers(drill))
          .isInstanceOfSatisfying(
              DrillException.class, e -> assertThat(e.kind()).isEqualTo(Kind.UNAVAILABLE));
      leases.up("h1", first.address().target());
      assertThat(headers(drill).queried()).containsExactly("h1");
      leases.up("h2", second.address().target());
      assertThat(headers(drill).queried()).containsExactly("h1", "h2");

      leases.lost("h1");
      Headers rest = headers(drill);
      assertThat(rest.queried()).containsExactly("h2");
      assertThat(rest.missing()).containsOnlyKeys("h1");
      assertThat(rest.missing().get("h1")).contains("lease");
      assertThat(drill.states().get(0).error()).contains("lease");
      assertThatThrownBy(() -> headers(drill, "h1"))
          .isInstanceOf(DrillException.class)
          .hasMessageContaining("lease");

      leases.up("h1", first.address().target());
      assertThat(headers(drill).queried()).containsExactly("h1", "h2");
      assertThat(headers(drill).missing()).isEmpty();

      leases.up("h1", second.address().target());
      assertThat(drill.states().get(0).address().target()).isEqualTo(second.address().target());
      leases.up("h1", "");
      leases.forgotten("h2");
      assertThat(drill.states()).isEmpty();
    }
  }

  /** Tests nodes that appear before or after the watch is added, or that return. */
  @Test
  void aNewNodeReceivesAllWatches() throws Exception {
    try (DrillService drill = new DrillService(List.of())) {
      LeasedNodes leases = new LeasedNodes(drill);
      leases.up("h1", first.address().target());
      String name =
          drill
              .watches()
              .add(
                  new WatchSpec(
                      "dst_port == 80",
                      DrillAggregate.parse("COUNT", List.of()),
                      "",
                      1_000_000_000,
                      1_000_000,
                      "info",
                      List.of()));
      leases.up("h2", second.address().target());
      awaitDefined(drill, name, 2);
      leases.lost("h2");
      leases.up("h2", second.address().target());
      drill.watches().remove(name);
      awaitDefined(drill, name, 0);
    }
  }

  /** Tests a threshold on the total of all hosts, which is divided into shares for the hosts. */
  @Test
  void sharesBecomeSmallerWithEachNode() throws Exception {
    try (DrillService drill = new DrillService(List.of())) {
      LeasedNodes leases = new LeasedNodes(drill);
      leases.up("h1", first.address().target());
      String name =
          drill
              .watches()
              .add(
                  new WatchSpec(
                      "",
                      DrillAggregate.parse("COUNT", List.of()),
                      "COUNT > 1000000",
                      1_000_000_000,
                      1_000_000,
                      "info",
                      List.of(),
                      true));
      awaitConditions(drill, name, List.of("COUNT > 1000000"));
      leases.up("h2", second.address().target());
      awaitConditions(drill, name, List.of("COUNT > 500000", "COUNT > 500000"));
      leases.lost("h2");
      leases.up("h2", second.address().target());
      awaitConditions(drill, name, List.of("COUNT > 500000", "COUNT > 500000"));
      drill.watches().remove(name);
    }
  }

  private static void awaitConditions(DrillService drill, String watch, List<String> wanted)
      throws Exception {
    Instant end = Instant.now().plus(TIMEOUT);
    while (!conditions(drill, watch).equals(wanted)) {
      assertThat(Instant.now()).as(() -> conditions(drill, watch).toString()).isBefore(end);
      Thread.sleep(10);
    }
  }

  private static List<String> conditions(DrillService drill, String watch) {
    return drill.states().stream()
        .filter(state -> state.description() != null)
        .flatMap(state -> state.description().getDefinitionsList().stream())
        .filter(definition -> definition.getTrigger().getName().equals(watch))
        .map(definition -> definition.getTrigger().getCondition())
        .toList();
  }

  private static void awaitDefined(DrillService drill, String watch, long nodes) throws Exception {
    Instant end = Instant.now().plus(TIMEOUT);
    while (defined(drill, watch) != nodes) {
      assertThat(Instant.now()).as("in time").isBefore(end);
      Thread.sleep(10);
    }
  }

  private static long defined(DrillService drill, String watch) {
    return drill.states().stream()
        .filter(state -> state.description() != null)
        .flatMap(state -> state.description().getDefinitionsList().stream())
        .filter(
            definition ->
                definition.hasAggregate() && definition.getAggregate().getName().equals(watch))
        .count();
  }

  @Test
  void configuredNodesStay() throws Exception {
    try (DrillService drill = new DrillService(List.of(first.address()))) {
      LeasedNodes leases = new LeasedNodes(drill);
      leases.up("h1", second.address().target());
      leases.lost("h1");
      leases.forgotten("h1");
      assertThat(drill.states().get(0).address()).isEqualTo(first.address());
      assertThat(headers(drill).queried()).containsExactly("h1");
    }
  }

  /**
   * Tests the addresses that agents report, since an agent's claims about itself are not trusted.
   */
  @Test
  void invalidAndDisallowedAddressesAreNotQueried() throws Exception {
    try (DrillService drill = new DrillService(List.of(first.address()))) {
      LeasedNodes leases = new LeasedNodes(drill);
      leases.up("far", "10.0.0.1:7400");
      leases.up("odd", "a b://c d");
      assertThat(headers(drill).queried()).containsExactly("h1");
      assertThat(headers(drill).missing().get("far")).contains("--multilog-ca");
    }
  }
}
