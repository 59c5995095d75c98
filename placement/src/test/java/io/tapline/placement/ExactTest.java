package io.tapline.placement;

import static org.assertj.core.api.Assertions.assertThat;

import io.tapline.network.HostMaker;
import io.tapline.network.LeafSpine;
import io.tapline.network.Topology;
import java.util.Optional;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class ExactTest {
  private static Problem small(int seed) {
    Random random = new Random(seed);
    Topology topology = LeafSpine.of(3, 1, 2, HostMaker.uniform(5, 18));
    Flows.Builder flows = new Flows.Builder(5);
    for (int i = 0; i < 5; i++) {
      long rate = (1 + random.nextInt(300)) * Exact.UNIT_BPS;
      flows.add(random.nextInt(6), random.nextInt(6), rate);
    }
    return new Problem(topology, flows.build(), Sizes.PAPER);
  }

  @ParameterizedTest
  @ValueSource(ints = {1, 2})
  void noStrategyBeatsTheOptimum(int seed) {
    Problem problem = small(seed);
    Strategy[] all = {
      Strategies.LOCAL_RANDOM,
      Strategies.NETALYTICS_NODE,
      Strategies.NETALYTICS_NETWORK,
      Strategies.TAPLINE_NODE,
      Strategies.TAPLINE_NETWORK
    };
    for (Strategy strategy : all) {
      Cost cost = Cost.of(problem, strategy.place(problem, new Random(1)));
      Exact.Optimum optimum =
          Exact.solve(
                  problem,
                  Cost.Objective.WITH_PROCESSORS,
                  cost.processes(),
                  cost.processorWeighted(),
                  30)
              .orElseThrow();
      assertThat(optimum.proven()).isTrue();
      assertThat(optimum.weighted()).isLessThanOrEqualTo(cost.processorWeighted());
      assertThat(LowerBound.weighted(problem, cost.processes()))
          .isLessThanOrEqualTo(optimum.weighted() + 1000.0);
    }
  }

  /**
   * The problem has two racks with one flow in each, and ample room on each host, so the optimum is
   * obvious.
   */
  @Test
  void findsTheKnownOptimumOfASmallProblem() {
    Topology topology = LeafSpine.of(2, 1, 2, HostMaker.uniform(24, 128));
    Flows flows =
        new Flows.Builder(2).add(0, 1, 100 * Exact.UNIT_BPS).add(2, 3, 50 * Exact.UNIT_BPS).build();
    Problem problem = new Problem(topology, flows, Sizes.PAPER);
    // Two monitors, and two aggregators with a processor each: no traffic leaves its host.
    assertThat(optimum(problem, 6)).isEqualTo(0);
    // With one processor fewer, the smaller stream of 50 Mb/s crosses between racks at weight 6.
    assertThat(optimum(problem, 5)).isEqualTo(6 * 50_000_000L);
    assertThat(optimum(problem, 4)).isEqualTo(6 * 50_000_000L);
    assertThat(Exact.solve(problem, Cost.Objective.WITH_PROCESSORS, 3, Long.MAX_VALUE, 30))
        .isEqualTo(Optional.empty());
  }

  private static long optimum(Problem problem, int processes) {
    return Exact.solve(problem, Cost.Objective.WITH_PROCESSORS, processes, Long.MAX_VALUE, 30)
        .orElseThrow()
        .weighted();
  }
}
