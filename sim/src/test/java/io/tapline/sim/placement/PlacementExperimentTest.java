package io.tapline.sim.placement;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import io.tapline.network.FatTree;
import io.tapline.network.HostMaker;
import io.tapline.network.Path;
import io.tapline.network.Topology;
import io.tapline.placement.Cost;
import io.tapline.placement.Flows;
import java.io.StringReader;
import java.util.List;
import java.util.SplittableRandom;
import javax.xml.parsers.DocumentBuilderFactory;
import org.junit.jupiter.api.Test;
import org.xml.sax.InputSource;

class PlacementExperimentTest {
  private static final PlacementExperiment.Options SMALL =
      new PlacementExperiment.Options(8, 3, List.of(2000, 20_000), List.of(Reading.TOTALS), 5);

  private static final long[] SMALL_INSTANCES = {6, 12, 13};

  @Test
  void staggersTrafficLikeThePaper() {
    Topology topology = FatTree.of(8, HostMaker.uniform(12, 64));
    Flows flows = Workload.even(topology, 8, 100_000, 1e6, new SplittableRandom(1));
    int[] byHops = new int[7];
    for (int flow = 0; flow < flows.size(); flow++) {
      Path path = topology.path(flows.from(flow), flows.to(flow));
      byHops[path.hops()]++;
    }
    assertThat(byHops[0]).isZero();
    assertThat(byHops[2] / 1e5).isCloseTo(0.5, within(0.01));
    assertThat(byHops[4] / 1e5).isCloseTo(0.3, within(0.01));
    assertThat(byHops[6] / 1e5).isCloseTo(0.2, within(0.01));
    assertThat(flows.totalBps() / 1e11).isCloseTo(1.0, within(0.15));
  }

  @Test
  void interpretationsHaveThePapersTotals() {
    SplittableRandom random = new SplittableRandom(1);
    Topology topology = FatTree.of(16, HostMaker.ofPaper(random));
    Flows totals = Workload.ofPaper(topology, 16, Reading.TOTALS, random);
    assertThat((double) totals.size()).isCloseTo(1e6, within(1e3));
    assertThat(totals.totalBps() / 1.2e12).isCloseTo(1.0, within(0.1));
  }

  @Test
  void ordersStrategiesLikeThePaper() {
    List<PlacementExperiment.Row> rows = PlacementExperiment.run(SMALL, message -> {});
    assertThat(rows).hasSize(2 * 6);
    double network = mean(rows, "netalytics-network", Measure.WEIGHTED);
    assertThat(network).isLessThan(mean(rows, "local-random", Measure.WEIGHTED));
    assertThat(mean(rows, "local-random", Measure.WEIGHTED))
        .isLessThan(mean(rows, "netalytics-node", Measure.WEIGHTED));
    double processes = mean(rows, "netalytics-network", Measure.PROCESSES);
    assertThat(mean(rows, "netalytics-node", Measure.PROCESSES)).isLessThan(processes);
    for (Measure measure : Measure.values()) {
      assertThat(mean(rows, "tapline-node", measure))
          .as(measure.label)
          .isLessThanOrEqualTo(mean(rows, "netalytics-network", measure));
    }
    assertThat(mean(rows, PlacementExperiment.BOUND, Measure.PROCESSES))
        .isLessThanOrEqualTo(mean(rows, "tapline-node", Measure.PROCESSES));
  }

  private static double mean(List<PlacementExperiment.Row> rows, String strategy, Measure measure) {
    return rows.stream()
        .filter(row -> row.flows() == 20_000 && row.strategy().equals(strategy))
        .findFirst()
        .orElseThrow()
        .measures()
        .get(measure)
        .mean();
  }

  @Test
  void theSameSeedGivesTheSameFiles() throws Exception {
    List<PlacementExperiment.Row> rows = PlacementExperiment.run(SMALL, message -> {});
    String csv = PlacementExperiment.csv(rows);
    assertThat(csv).isEqualTo(PlacementExperiment.csv(PlacementExperiment.run(SMALL, m -> {})));
    int columns = csv.lines().findFirst().orElseThrow().split(",", -1).length;
    assertThat(csv.lines()).allMatch(line -> line.split(",", -1).length == columns);
    String svg =
        PlacementExperiment.plot(rows, Reading.TOTALS, Measure.BANDWIDTH, Measure.WEIGHTED);
    DocumentBuilderFactory.newInstance()
        .newDocumentBuilder()
        .parse(new InputSource(new StringReader(svg)));
    assertThat(svg).contains("netalytics-network, weighted");
  }

  @Test
  void intervalsFollowStudentsT() {
    Statistic statistic = Statistic.of(1, 2, 3);
    assertThat(statistic.mean()).isEqualTo(2);
    assertThat(statistic.halfWidth()).isCloseTo(4.303 / Math.sqrt(3), within(1e-9));
    assertThat(Statistic.of(7).halfWidth()).isZero();
  }

  @Test
  void costsEqualThoseOfTheWorkload() {
    Topology topology = FatTree.of(4, HostMaker.uniform(12, 64));
    Flows flows = new Flows.Builder(2).add(0, 1, 10).add(0, 15, 10).build();
    assertThat(Cost.workload(topology, flows)).isEqualTo(new Cost.Workload(20, 80, 160));
  }

  /**
   * Solves three instances exactly, each in a second or two; {@code tapline sim placement --optimum
   * 100} solves a hundred.
   */
  @Test
  void ourStrategiesReachTheOptimumOfSmallInstances() {
    for (long seed : SMALL_INSTANCES) {
      OptimumExperiment.Instance instance =
          OptimumExperiment.run(1, seed, 60, candidate -> {}).get(0);
      assertThat(instance.proven()).as("seed %d", seed).isTrue();
      assertThat(instance.fewerPossible()).as("seed %d", seed).isTrue();
      assertThat(instance.gapPercent("tapline-network")).as("seed %d", seed).isBetween(0.0, 5.0);
      assertThat(instance.moreProcesses("tapline-network")).as("seed %d", seed).isNegative();
      assertThat(instance.gapPercent("netalytics-network")).isPositive();
    }
  }
}
