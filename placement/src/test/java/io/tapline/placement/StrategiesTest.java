package io.tapline.placement;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.tapline.network.FatTree;
import io.tapline.network.HostMaker;
import io.tapline.network.LeafSpine;
import io.tapline.network.Topology;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class StrategiesTest {
  private static final Map<String, Strategy> ALL =
      Map.of(
          "local-random", Strategies.LOCAL_RANDOM,
          "netalytics-node", Strategies.NETALYTICS_NODE,
          "netalytics-network", Strategies.NETALYTICS_NETWORK,
          "tapline-node", Strategies.TAPLINE_NODE,
          "tapline-network", Strategies.TAPLINE_NETWORK);

  /** Returns the layout. If there is no room, checks the error and returns nothing. */
  private static Optional<Layout> place(Strategy strategy, Problem problem) {
    try {
      return Optional.of(strategy.place(problem, new Random(7)));
    } catch (PlacementException e) {
      assertThat(e.code()).isEqualTo(PlacementException.Code.NO_HOST);
      assertThat(e).hasMessageContaining("has room for another");
      return Optional.empty();
    }
  }

  @ParameterizedTest
  @ValueSource(ints = {0, 1, 2, 3})
  void thePapersStrategiesGiveValidLayouts(int part) {
    int placed = 0;
    for (int seed = 100 * part; seed < 100 * part + 100; seed++) {
      Problem problem = Problems.random(seed);
      for (Strategy strategy :
          new Strategy[] {
            Strategies.LOCAL_RANDOM, Strategies.NETALYTICS_NODE, Strategies.NETALYTICS_NETWORK
          }) {
        Optional<Layout> layout = place(strategy, problem);
        if (layout.isPresent()) {
          placed++;
          assertThat(Layouts.violations(problem, layout.get())).as("seed %d", seed).isEmpty();
          assertThat(layout.get().processes())
              .isGreaterThanOrEqualTo(LowerBound.processes(problem));
        }
      }
    }
    assertThat(placed).isGreaterThan(200);
  }

  @Test
  void ourStrategiesDominateNetalyticsNetwork() {
    int fewer = 0;
    for (int seed = 0; seed < 8; seed++) {
      Problem problem = Problems.random(seed);
      Optional<Layout> network = place(Strategies.NETALYTICS_NETWORK, problem);
      if (network.isEmpty()) {
        continue;
      }
      Cost bound = Cost.of(problem, network.get());
      Layout node = Strategies.TAPLINE_NODE.place(problem, new Random(7));
      assertThat(Layouts.violations(problem, node)).isEmpty();
      assertThat(Cost.of(problem, node).dominates(bound)).as("seed %d", seed).isTrue();
      Layout min = Strategies.TAPLINE_NETWORK.place(problem, new Random(7));
      assertThat(Layouts.violations(problem, min)).isEmpty();
      assertThat(min.processes()).isLessThanOrEqualTo(bound.processes());
      assertThat(Cost.of(problem, min).processorWeighted())
          .isLessThanOrEqualTo(bound.processorWeighted());
      fewer += node.processes() < bound.processes() ? 1 : 0;
    }
    assertThat(fewer).isGreaterThan(3);
  }

  @Test
  void theSameSeedGivesTheSameLayout() {
    Problem problem = Problems.random(3);
    ALL.forEach(
        (name, strategy) -> {
          Layout once = strategy.place(problem, new Random(1));
          Layout second = strategy.place(problem, new Random(1));
          assertThat(Cost.of(problem, second)).as(name).isEqualTo(Cost.of(problem, once));
          assertThat(second.monitorOfFlow()).containsExactly(once.monitorOfFlow());
        });
  }

  /** Figure 2 of the paper: two of three connections share rack 5, so greedy needs two monitors. */
  @Test
  void greedyPlacesThePapersExample() {
    Topology topology = LeafSpine.of(6, 2, 4, HostMaker.uniform(24, 128));
    Flows flows =
        new Flows.Builder(3)
            .add(4 * 1, 4 * 4, 1000)
            .add(4 * 2, 4 * 5, 1000)
            .add(4 * 3, 4 * 4 + 1, 1000)
            .build();
    Problem problem = new Problem(topology, flows, Sizes.PAPER);
    Layout layout = Strategies.NETALYTICS_NETWORK.place(problem, new Random(1));
    assertThat(layout.monitors()).hasSize(2);
    assertThat(topology.edgeOf(layout.monitors().get(0).host())).isEqualTo(4);
    assertThat(layout.monitorOfFlow()).containsExactly(0, 1, 0);
  }

  @Test
  void aFlowTooLargeForAMonitorIsAnError() {
    Topology topology = FatTree.of(4, HostMaker.uniform(24, 128));
    Flows flows = new Flows.Builder(1).add(0, 5, 10_000_000_001L).build();
    Problem problem = new Problem(topology, flows, Sizes.PAPER);
    ALL.forEach(
        (name, strategy) ->
            assertThatThrownBy(() -> strategy.place(problem, new Random(1)))
                .as(name)
                .isInstanceOf(PlacementException.class)
                .hasMessage(
                    "the flow from h-0-0-0 to h-1-0-1 has 10,000,000,001 bit/s, but a monitor processes"
                        + " at most 10,000,000,000: sample the flow, or give monitors more"
                        + " capacity"));
  }

  @Test
  void insufficientCapacityIsAnError() {
    Topology topology = FatTree.of(4, HostMaker.uniform(1, 128));
    Flows flows = new Flows.Builder(1).add(0, 5, 1000).build();
    Problem problem = new Problem(topology, flows, Sizes.PAPER);
    ALL.forEach(
        (name, strategy) ->
            assertThatThrownBy(() -> strategy.place(problem, new Random(1)))
                .as(name)
                .isInstanceOf(PlacementException.class)
                .hasMessageStartingWith(
                    "no host under edge-0-0 or edge-1-0 has room for another monitor"));
  }

  @Test
  void theParetoFrontTradesTrafficForProcesses() {
    Topology topology = FatTree.of(8, HostMaker.ofPaper(new Random(1)));
    Flows flows = Problems.flows(topology, 2000, 20e6, new Random(2));
    Problem problem = new Problem(topology, flows, Sizes.PAPER);
    ParetoFront front = ParetoFront.of(problem, Cost.Objective.WITH_PROCESSORS, new Random(3));
    assertThat(front.points()).hasSizeGreaterThan(10);
    long previousValue = Long.MAX_VALUE;
    for (ParetoFront.Point point : front.points()) {
      Layout layout = front.layout(point);
      assertThat(Layouts.violations(problem, layout)).isEmpty();
      assertThat(layout.processes()).isEqualTo(point.processes());
      assertThat(point.weighted(Cost.Objective.WITH_PROCESSORS)).isLessThan(previousValue);
      previousValue = point.weighted(Cost.Objective.WITH_PROCESSORS);
    }
    int few = front.cheapest(1e12).processes();
    assertThat(few).isLessThan(front.cheapest(1e3).processes());
  }
}
