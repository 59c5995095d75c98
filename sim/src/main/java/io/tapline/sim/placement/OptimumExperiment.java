package io.tapline.sim.placement;

import io.tapline.placement.Cost;
import io.tapline.placement.Exact;
import io.tapline.placement.FatTree;
import io.tapline.placement.Flows;
import io.tapline.placement.HostMaker;
import io.tapline.placement.Problem;
import io.tapline.placement.Sizes;
import io.tapline.placement.Strategy;
import io.tapline.placement.Topology;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.SplittableRandom;
import java.util.function.Consumer;

/**
 * How far strategies are from the least weighted traffic (processors included) of any layout with
 * fewer processes than Netalytics-Network, or with as many where no layout with fewer has less
 * traffic than Netalytics-Network. Instances: a fat tree of k=4 with the paper's hosts, 6 to 14
 * flows, 8 Gb/s in all.
 */
public final class OptimumExperiment {
  private static final int K = 4;
  private static final double TOTAL_BPS = 8e9;
  private static final double SECONDS = 60;
  private static final String NETWORK = "netalytics-network";

  /**
   * What a strategy gave.
   *
   * @param weighted bits per second times weights
   */
  public record Given(int processes, long weighted) {}

  /**
   * One instance.
   *
   * @param budget most processes that the optimum may have
   * @param optimum empty if time ran out before it was proven
   * @param fewerPossible whether some layout has fewer processes than Netalytics-Network and no
   *     more traffic
   */
  public record Instance(
      int number,
      int budget,
      Optional<Long> optimum,
      boolean fewerPossible,
      Map<String, Given> given) {}

  private OptimumExperiment() {}

  /** Runs this many instances. */
  public static List<Instance> run(int count, long seed, Consumer<String> progress) {
    List<Instance> instances = new ArrayList<>();
    for (int i = 0; i < count; i++) {
      progress.accept("optimum of instance %d of %d".formatted(i + 1, count));
      instances.add(instance(i, problem(seed + i), seed + i));
    }
    return instances;
  }

  private static Problem problem(long seed) {
    SplittableRandom random = new SplittableRandom(seed);
    Topology topology = FatTree.of(K, HostMaker.ofPaper(random));
    int count = random.nextInt(6, 15);
    Flows drawn = Workload.even(topology, K, count, TOTAL_BPS / count, random);
    Flows.Builder flows = new Flows.Builder(count);
    for (int flow = 0; flow < count; flow++) {
      long units = Math.max(1, drawn.rateBps(flow) / Exact.UNIT_BPS);
      flows.add(drawn.from(flow), drawn.to(flow), units * Exact.UNIT_BPS);
    }
    return new Problem(topology, flows.build(), Sizes.PAPER);
  }

  private static Instance instance(int number, Problem problem, long seed) {
    Map<String, Given> given = new LinkedHashMap<>();
    for (Map.Entry<String, Strategy> each : PlacementExperiment.STRATEGIES.entrySet()) {
      Cost cost = Cost.of(problem, each.getValue().place(problem, new SplittableRandom(seed)));
      given.put(each.getKey(), new Given(cost.processes(), cost.processorWeighted()));
    }
    Given network = given.get(NETWORK);
    Given ours = given.get("tapline-network");
    int fewer = network.processes() - 1;
    long known = ours.processes() <= fewer ? ours.weighted() : network.weighted();
    Optional<Exact.Optimum> optimum = solve(problem, fewer, known);
    boolean possible = optimum.isPresent();
    int budget = possible ? fewer : network.processes();
    if (!possible) {
      optimum = solve(problem, budget, ours.weighted());
    }
    Optional<Long> proven = optimum.filter(Exact.Optimum::proven).map(Exact.Optimum::weighted);
    return new Instance(number, budget, proven, possible, given);
  }

  /** The optimum that is no more than what is known. */
  private static Optional<Exact.Optimum> solve(Problem problem, int processes, long known) {
    return Exact.solve(problem, Cost.Objective.WITH_PROCESSORS, processes, known, SECONDS);
  }

  /** Traffic beyond the optimum, in percent of it; infinite over an optimum of nothing. */
  public static double gapPercent(Given given, long optimum) {
    if (given.weighted() == optimum) {
      return 0;
    }
    return 100.0 * (given.weighted() - optimum) / optimum;
  }
}
