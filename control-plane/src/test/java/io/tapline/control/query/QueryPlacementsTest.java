package io.tapline.control.query;

import static org.assertj.core.api.Assertions.assertThat;

import io.tapline.compiler.Inventory;
import io.tapline.compiler.network.NetworkSection;
import io.tapline.network.Network;
import io.tapline.network.SwitchPorts;
import io.tapline.schema.proto.Address;
import io.tapline.schema.proto.Match;
import io.tapline.schema.proto.Queue;
import io.tapline.sdn.controller.Controller;
import io.tapline.sdn.controller.ControllerOptions;
import io.tapline.sdn.controller.NetworkMap;
import io.tapline.sdn.mirror.MirrorReport;
import io.tapline.sdn.mirror.MirrorState;
import io.tapline.sdn.mirror.NetworkAdapter;
import io.tapline.sdn.simulation.SimulatedSwitches;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import org.junit.jupiter.api.Test;

class QueryPlacementsTest {
  private static final long DATAPATH_FOLLOWS_NS = 500_000_000;

  private static final String YAML =
      """
      hosts: {web: 10.0.1.1, db: 10.0.2.1}
      network: {switches: {leaf1: [web], leaf2: [db]}, links: [[leaf1, leaf2]]}
      """;
  private static final Optional<Network> NETWORK =
      NetworkSection.fromYaml(YAML, Inventory.fromYaml(YAML));

  private static Match to(String prefix) {
    return Match.newBuilder().addTo(Address.newBuilder().setPrefix(prefix)).build();
  }

  @Test
  void aQueryReservesResourcesUntilItIsRemoved() {
    QueryPlacements placements = new QueryPlacements(NETWORK);
    assertThat(placements.preview("q", to("10.0.1.1/32"), Optional.empty()).plan()).isPresent();
    assertThat(placements.find("q")).isEmpty();
    assertThat(placements.reserve("q", to("10.0.1.1/32"), Optional.empty()).plan()).isPresent();
    assertThat(placements.find("q").orElseThrow().tables()).containsOnlyKeys("leaf1");
    assertThat(
            placements
                .preview("p", to("10.0.2.1/32"), Optional.empty())
                .plan()
                .orElseThrow()
                .tables())
        .containsOnlyKeys("leaf1", "leaf2");
    placements.release("q");
    placements.release("q");
    assertThat(placements.find("q")).isEmpty();
    assertThat(
            placements
                .preview("p", to("10.0.2.1/32"), Optional.empty())
                .plan()
                .orElseThrow()
                .tables())
        .containsOnlyKeys("leaf2");
  }

  @Test
  void queriesThatCantBePlacedAreRejectedWithAReason() {
    QueryPlacements placements = new QueryPlacements(NETWORK);
    assertThat(placements.reserve("q", to("192.0.2.1/32"), Optional.empty()).refusal())
        .isEqualTo(
            "not placed in the inventory's network: no host in the inventory's network has an"
                + " address that the query names");
    assertThat(placements.find("q")).isEmpty();
  }

  @Test
  void queuesAreCopiedUntilTheirQueryIsReleased() {
    SwitchPorts ports = Inventory.fromYaml(YAML).ports();
    QueryPlacements placements = new QueryPlacements(NETWORK, ports);
    List<Queue> queues =
        List.of(Queue.newBuilder().setSwitchName("leaf1").setPort("leaf2").build());
    QueryPlacements.Copies preview = placements.previewCopies("q", queues, Set.of("web", "db"));
    assertThat(placements.copiesFor("q")).isFalse();
    QueryPlacements.Copies copies = placements.reserveCopies("q", queues, Set.of("web", "db"));
    assertThat(copies).isEqualTo(preview);
    assertThat(copies.refusal()).isEmpty();
    assertThat(copies.rules()).hasSize(2);
    assertThat(copies.queues())
        .containsExactly(queues.get(0).toBuilder().setMark(1).setHost("web").build());
    assertThat(placements.copiesFor("q")).isTrue();
    placements.release("q");
    assertThat(placements.copiesFor("q")).isFalse();
    // A control plane that takes over the query keeps its hosts and marks.
    assertThat(placements.reserveCopies("q", copies.queues(), Set.of())).isEqualTo(copies);
    assertThat(placements.reserveCopies("p", queues, Set.of("db")).refusal())
        .startsWith("no monitor can see both sides of queue leaf1:leaf2");
  }

  @Test
  void queuesOfALostHostAreCopiedToAnotherOne() {
    String yaml =
        """
        hosts: {web: 10.0.1.1, app: 10.0.1.2, db: 10.0.2.1}
        network:
          switches: {leaf1: [web, app], leaf2: [db], spine: []}
          links: [[leaf1, spine], [leaf2, spine]]
          ports: {leaf1: {spine: 3, web: 1, app: 2}, leaf2: {spine: 2, db: 1}, spine: {leaf1: 1, leaf2: 2}}
        """;
    Inventory inventory = Inventory.fromYaml(yaml);
    QueryPlacements placements =
        new QueryPlacements(NetworkSection.fromYaml(yaml, inventory), inventory.ports());
    List<Queue> queues = List.of(Queue.newBuilder().setSwitchName("leaf1").setPort("3").build());
    List<Queue> placedQueues = placements.reserveCopies("q", queues, Set.of("web")).queues();
    assertThat(placedQueues).extracting(Queue::getHost).containsExactly("web");
    assertThat(placements.moveCopies("q", placedQueues, Set.of("db")))
        .as("copies of arrivals would cross the queue")
        .isEmpty();
    List<Queue> movedQueues =
        placements.moveCopies("q", placedQueues, Set.of("app", "db")).orElseThrow();
    assertThat(movedQueues).extracting(Queue::getHost).containsExactly("app");
    assertThat(movedQueues.get(0).getMark()).as("copies of both hosts differ").isEqualTo(2);
    assertThat(placements.moveCopies("q", movedQueues, Set.of())).isEmpty();
    assertThat(placements.moveCopies("q", queues, Set.of("web"))).as("not copied").isEmpty();
    assertThat(placements.moveCopies("p", movedQueues, Set.of("web"))).as("unknown").isEmpty();
    placements.release("q");
    assertThat(placements.copiesFor("q")).isFalse();
  }

  @Test
  void addsNoNoteWithoutANetwork() {
    QueryPlacements placements = new QueryPlacements(Optional.empty());
    assertThat(placements.reserve("q", to("10.0.1.1/32"), Optional.empty()))
        .isEqualTo(QueryPlacements.Outcome.NOTHING);
    placements.release("q");
  }

  /** Tests the controller with two simulated switches over TCP. */
  @Test
  void rulesAreOnTheRightSwitchAndRemovedWithTheirQuery() throws Exception {
    String yaml =
        """
        hosts: {web: 10.0.1.1, db: 10.0.2.1}
        network:
          switches: {leaf1: [web], leaf2: [db]}
          links: [[leaf1, leaf2]]
          openflow:
            datapaths: {leaf1: 1, leaf2: 2}
            monitor_ports: {leaf1: {web: 3}, leaf2: {db: 3}}
        """;
    Network network = NetworkSection.fromYaml(yaml, Inventory.fromYaml(yaml)).orElseThrow();
    InetAddress loopback = InetAddress.getLoopbackAddress();
    ControllerOptions options =
        ControllerOptions.of(new InetSocketAddress(loopback, 0), NetworkMap.of(network, yaml));
    QueryPlacements placements = new QueryPlacements(Optional.of(network));
    try (Controller controller = Controller.start(options);
        SimulatedSwitches switches =
            new SimulatedSwitches(new InetSocketAddress(loopback, controller.port()), 2, 4, 1)) {
      switches.connect();
      placements.mirrorThrough(controller);
      await(() -> switches.flows(0) == 3 && switches.flows(1) == 3);
      placements.reserve("q", to("10.0.1.1/32"), Optional.empty());
      CompletableFuture<Boolean> mirrored = new CompletableFuture<>();
      long reportedNs = System.nanoTime();
      CompletableFuture<Boolean> confirmed = new CompletableFuture<>();
      placements.mirror(
          "q",
          () -> mirrored.complete(switches.flows(0) == 5 && confirmed.isDone()),
          () -> confirmed.complete(true));
      assertThat(mirrored.get(60, TimeUnit.SECONDS)).isTrue();
      assertThat(System.nanoTime() - reportedNs)
          .as("the datapath had time to follow")
          .isGreaterThan(DATAPATH_FOLLOWS_NS);
      assertThat(controller.report().complete()).isTrue();
      placements.reserve("p", to("10.0.1.0/24"), Optional.empty());
      placements.mirror();
      await(() -> controller.report().complete());
      assertThat(controller.report().rules()).containsOnlyKeys("leaf1");
      placements.release("q");
      await(() -> controller.report().complete() && switches.flows(0) == 5);
      placements.release("p");
      await(() -> switches.flows(0) == 3);
      assertThat(switches.flows(1)).isEqualTo(3);
      assertThat(controller.report().rules()).isEmpty();
    }
  }

  /**
   * Tests that a query starts without waiting forever for a switch, and that a later confirmation
   * is reported.
   */
  @Test
  void aLateConfirmationOfASwitchIsReported() throws Exception {
    QueryPlacements placements = new QueryPlacements(NETWORK, SwitchPorts.NONE, Duration.ZERO);
    LateSwitches switches = new LateSwitches();
    placements.mirrorThrough(switches);
    placements.reserve("q", to("10.0.1.1/32"), Optional.empty());
    CompletableFuture<Boolean> began = new CompletableFuture<>();
    CompletableFuture<Boolean> confirmed = new CompletableFuture<>();
    placements.mirror(
        "q",
        () -> began.complete(confirmed.isDone()),
        () -> confirmed.complete(switches.installed));
    assertThat(began.get(60, TimeUnit.SECONDS)).as("confirmed by then").isFalse();
    switches.installed = true;
    assertThat(confirmed.get(60, TimeUnit.SECONDS)).isTrue();
  }

  private static final class LateSwitches implements NetworkAdapter {
    private volatile boolean installed;

    @Override
    public void mirror(MirrorState wantedState) {}

    @Override
    public MirrorReport report() {
      SortedMap<String, List<String>> missing = new TreeMap<>();
      if (!installed) {
        missing.put("leaf1", List.of("not connected"));
      }
      return new MirrorReport(new TreeMap<>(), missing);
    }

    @Override
    public void close() {}
  }

  private static void await(BooleanSupplier condition) throws InterruptedException {
    long endNs = System.nanoTime() + 60_000_000_000L;
    while (!condition.getAsBoolean()) {
      assertThat(System.nanoTime()).as("still not confirmed after a minute").isLessThan(endNs);
      Thread.sleep(20);
    }
  }
}
