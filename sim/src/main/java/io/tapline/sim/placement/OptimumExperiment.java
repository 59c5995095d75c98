package io.tapline.sim.placement;

import io.tapline.network.FatTree;
import io.tapline.network.HostMaker;
import io.tapline.network.Topology;
import io.tapline.placement.Cost;
import io.tapline.placement.Exact;
import io.tapline.placement.Flows;
import io.tapline.placement.Problem;
import io.tapline.placement.Sizes;
import io.tapline.placement.Strategy;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.SplittableRandom;
import java.util.function.Consumer;

/**
 * Measures the gap between strategies and the optimum. The optimum is the minimum weighted traffic,
 * including processors, of any layout with fewer processes than Netalytics-Network. If all layouts
 * with fewer processes have more traffic than Netalytics-Network, layouts with the same number of
 * processes are considered instead.
 *
 * <p>Each instance is a fat tree of k=4 (16 hosts) with the paper's hosts and 4 to 9 flows. Every
 * second instance has processes with a quarter of the paper's capacity, to make capacities matter.
 */
public final class OptimumExperiment {
  private static final int K = 4;
  private static final int FEWEST_FLOWS = 4;
  private static final int MAX_FLOWS = 9;
  private static final double TOTAL_BPS = 8e9;
  private static final int SMALLER = 4;
  private static final String NETWORK = "netalytics-network";
  private static final String OURS = "tapline-network";

  /**
   * The result of a strategy.
   *
   * @param weighted bits per second times weights
   */
  public record PlacedLayout(int processes, long weighted) {}

  /**
   * One instance.
   *
   * @param budget maximum number of processes in the optimum
   * @param bound lower bound on the traffic of any layout within the budget; the optimum itself if
   *     it is proven
   * @param proven true if some layout has that traffic; false if time ran out
   * @param fewerPossible true if some layout has fewer processes than Netalytics-Network and no
   *     more traffic, or if time ran out before this was known
   */
  public record Instance(
      int number,
      int flows,
      int budget,
      long bound,
      boolean proven,
      boolean fewerPossible,
      Map<String, PlacedLayout> placements) {

    /**
     * Returns the traffic beyond the optimum (or the bound), as a percentage of the optimum;
     * infinite if the optimum is zero.
     */
    public double gapPercent(String strategy) {
      long weighted = placements.get(strategy).weighted();
      return weighted == bound ? 0 : 100.0 * (weighted - bound) / bound;
    }

    /** Returns the number of additional processes compared with Netalytics-Network. */
    public int moreProcesses(String strategy) {
      return placements.get(strategy).processes() - placements.get(NETWORK).processes();
    }
  }

  private OptimumExperiment() {}

  /**
   * Runs this many instances.
   *
   * @param seconds time limit of each proof; an instance may need two
   * @param done receives each instance once it is solved
   */
  public static List<Instance> run(int count, long seed, double seconds, Consumer<Instance> done) {
    List<Instance> instances = new ArrayList<>();
    for (int i = 0; i < count; i++) {
      Instance instance = instance(i, problem(seed + i), seed + i, seconds);
      instances.add(instance);
      done.accept(instance);
    }
    return instances;
  }

  /** Returns the instance for a seed. */
  static Problem problem(long seed) {
    SplittableRandom random = new SplittableRandom(seed);
    Topology topology = FatTree.of(K, HostMaker.ofPaper(random));
    int count = random.nextInt(FEWEST_FLOWS, MAX_FLOWS + 1);
    Flows flowSet = Workload.even(topology, K, count, TOTAL_BPS / count, random);
    Flows.Builder flows = new Flows.Builder(count);
    for (int flow = 0; flow < count; flow++) {
      long units = Math.max(1, flowSet.rateBps(flow) / Exact.UNIT_BPS);
      flows.add(flowSet.from(flow), flowSet.to(flow), units * Exact.UNIT_BPS);
    }
    return new Problem(topology, flows.build(), seed % 2 == 0 ? Sizes.PAPER : smaller());
  }

  private static Sizes smaller() {
    Sizes paper = Sizes.PAPER;
    return new Sizes(
        paper.monitorBps() / SMALLER,
        paper.aggregatorBps() / SMALLER,
        paper.processorBps() / SMALLER,
        paper.extractedPerMille(),
        paper.monitor(),
        paper.aggregator(),
        paper.processor());
  }

  private static Instance instance(int number, Problem problem, long seed, double seconds) {
    Map<String, PlacedLayout> placements = new LinkedHashMap<>();
    for (Map.Entry<String, Strategy> entry : PlacementExperiment.STRATEGIES.entrySet()) {
      Cost cost = Cost.of(problem, entry.getValue().place(problem, new SplittableRandom(seed)));
      placements.put(entry.getKey(), new PlacedLayout(cost.processes(), cost.processorWeighted()));
    }
    PlacedLayout network = placements.get(NETWORK);
    PlacedLayout ownPlaced = placements.get(OURS);
    int fewer = network.processes() - 1;
    long known = ownPlaced.processes() <= fewer ? ownPlaced.weighted() : network.weighted();
    Optional<Exact.Optimum> optimum = solve(problem, fewer, known, seconds);
    boolean possible = optimum.isPresent();
    int budget = possible ? fewer : network.processes();
    if (!possible) {
      optimum = solve(problem, budget, ownPlaced.weighted(), seconds);
    }
    Exact.Optimum exact = optimum.orElseThrow();
    long bound = exact.proven() ? exact.weighted() : exact.bound();
    return new Instance(
        number, problem.flows().size(), budget, bound, exact.proven(), possible, placements);
  }

  /**
   * Returns the optimum with at most this many processes; empty if there is none.
   *
   * @param known upper bound on its traffic
   */
  private static Optional<Exact.Optimum> solve(
      Problem problem, int processes, long known, double seconds) {
    return Exact.solve(problem, Cost.Objective.WITH_PROCESSORS, processes, known, seconds);
  }
}
