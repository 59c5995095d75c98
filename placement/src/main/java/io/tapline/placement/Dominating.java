package io.tapline.placement;

import java.util.List;
import java.util.Optional;
import java.util.random.RandomGenerator;

/**
 * Improves on Netalytics-Network, with no more processes. With FEWEST_PROCESSES, no measure of
 * traffic in {@link Cost} exceeds that of Netalytics-Network; with LEAST_TRAFFIC, this is certain
 * only for the weighted traffic including processors. First minimizes monitors. Then, a few times,
 * computes the {@link ParetoFront} for these monitors, chooses one of its points, steers flows to
 * the monitors that suit it, and recomputes the front. Finally, anneals the layouts of small
 * problems. If it finds nothing better, returns the layout of Netalytics-Network.
 */
final class Dominating implements Strategy {
  /** The figure to minimize within the limits that Netalytics-Network sets. */
  enum Aim {
    FEWEST_PROCESSES,
    LEAST_TRAFFIC
  }

  private static final int ROUNDS = 5;
  private static final int TRIES = 6;
  private static final int MAX_STEPS = 200_000;
  private static final int STEPS_TIMES_SIZE = 5_000_000;
  private static final int STARTS = 3;
  private static final int MAX_STARTS = 8;
  private static final double HOPE = 1.25;

  private final Aim aim;

  Dominating(Aim aim) {
    this.aim = aim;
  }

  @Override
  public Layout place(Problem problem, RandomGenerator random) {
    Layout network = Strategies.NETALYTICS_NETWORK.place(problem, random);
    Cost bound = Cost.of(problem, network);
    Search search = new Search(problem, bound, network);
    HostUse use = new HostUse(problem.topology());
    MonitorPlacer.Monitors monitors = new ThriftyMonitors().place(problem, use, random);
    for (int round = 0; round < ROUNDS && monitors != null; round++) {
      monitors = search.round(monitors, use);
    }
    if (aim == Aim.FEWEST_PROCESSES) {
      Layout smallest = new Dominating(Aim.LEAST_TRAFFIC).place(problem, random);
      if (Cost.of(problem, smallest).dominates(bound)) {
        search.take(smallest);
      }
    }
    if (Annealing.suits(problem)) {
      search.anneal(random);
    }
    return search.result();
  }

  private final class Search {
    private final Problem problem;
    private final Cost bound;
    private final Layout network;
    private Layout best;
    private Cost bestCost;
    private Layout asMany;
    private Distances distances;

    Search(Problem problem, Cost bound, Layout network) {
      this.problem = problem;
      this.bound = bound;
      this.network = network;
      this.best = network;
      this.bestCost = bound;
    }

    /**
     * Computes the front for these monitors. Returns them with flows steered for the next round, or
     * null if no point of the front is promising.
     */
    MonitorPlacer.Monitors round(MonitorPlacer.Monitors monitors, HostUse use) {
      ParetoFront front = ParetoFront.of(problem, Cost.Objective.WITH_PROCESSORS, use, monitors);
      Layout dominating = firstThatDominates(front, front.points(point -> isNear(point, 1)), TRIES);
      if (dominating == null) {
        lookAtAsMany(front);
        List<ParetoFront.Point> hopeful = order(front.points(point -> isNear(point, HOPE)));
        if (hopeful.isEmpty()) {
          return null;
        }
        dominating = front.layout(hopeful.get(0));
      } else {
        take(dominating);
      }
      return Steering.steer(problem, dominating);
    }

    private Layout firstThatDominates(
        ParetoFront front, List<ParetoFront.Point> byProcesses, int tries) {
      List<ParetoFront.Point> points = order(byProcesses);
      for (ParetoFront.Point point : points.subList(0, Math.min(tries, points.size()))) {
        Layout layout = front.layout(point);
        if (Cost.of(problem, layout).dominates(bound)) {
          return layout;
        }
      }
      return null;
    }

    /**
     * Looks for a layout with no more traffic and the same number of processes. It is the result if
     * no layout with fewer processes is found.
     */
    private void lookAtAsMany(ParetoFront front) {
      if (aim == Aim.LEAST_TRAFFIC && asMany == null && best == network) {
        asMany =
            firstThatDominates(
                front,
                front.points(
                    point -> point.processes() == bound.processes() && hasTraffic(point, 1)),
                1);
      }
    }

    Layout result() {
      return best == network && asMany != null ? asMany : best;
    }

    /**
     * Anneals the best layout so far. With FEWEST_PROCESSES, reduces the number of processes until
     * no layout is found. With LEAST_TRAFFIC, uses one process fewer than Netalytics-Network, or as
     * many if no such layout is found.
     */
    void anneal(RandomGenerator random) {
      distances = new Distances(problem.topology());
      if (aim == Aim.LEAST_TRAFFIC) {
        if (!anneal(bound.processes() - 1, random)) {
          anneal(bound.processes(), random);
        }
        return;
      }
      int max = bestCost.processes();
      while (annealOnce(max - 1, 0, random) || annealOnce(max - 1, 1, random)) {
        max = bestCost.processes();
      }
      anneal(max, random);
    }

    /**
     * Anneals repeatedly, until several attempts in a row have found nothing better. Returns true
     * if any attempt found a permitted layout.
     */
    private boolean anneal(int maxProcesses, RandomGenerator random) {
      boolean isMatched = false;
      int since = 0;
      for (int start = 0; start < MAX_STARTS && since < STARTS; start++) {
        Cost previousCost = bestCost;
        isMatched |= annealOnce(maxProcesses, start, random);
        since = bestCost.equals(previousCost) ? since + 1 : 0;
      }
      return isMatched;
    }

    /**
     * Anneals once, from the best layout if {@code start} is even and otherwise from that of
     * Netalytics-Network. Returns true if a permitted layout was found.
     */
    private boolean annealOnce(int maxProcesses, int start, RandomGenerator random) {
      Draft draft = new Draft(problem, distances, start % 2 == 0 ? best : network);
      Optional<Layout> layout = Annealing.improve(draft, maxProcesses, steps(), random);
      boolean isAccepted = layout.isPresent() && isAllowed(Cost.of(problem, layout.get()));
      if (isAccepted) {
        take(layout.get());
      }
      return isAccepted;
    }

    private int steps() {
      int size = problem.flows().size() + problem.topology().hostCount();
      return Math.min(MAX_STEPS, STEPS_TIMES_SIZE / size);
    }

    private void take(Layout layout) {
      Cost cost = Cost.of(problem, layout);
      if (isBetter(cost)) {
        best = layout;
        bestCost = cost;
      }
    }

    private boolean isAllowed(Cost cost) {
      return aim == Aim.FEWEST_PROCESSES
          ? cost.dominates(bound)
          : cost.processorWeighted() <= bound.processorWeighted();
    }

    private boolean isNear(ParetoFront.Point point, double factor) {
      boolean small =
          aim == Aim.FEWEST_PROCESSES
              ? point.processes() <= bound.processes()
              : point.processes() < bound.processes();
      return small && hasTraffic(point, factor);
    }

    private boolean hasTraffic(ParetoFront.Point point, double factor) {
      return point.toAggregators() <= factor * bound.weighted()
          && point.weighted(Cost.Objective.WITH_PROCESSORS) <= factor * bound.processorWeighted();
    }

    private List<ParetoFront.Point> order(List<ParetoFront.Point> byProcesses) {
      List<ParetoFront.Point> order = new java.util.ArrayList<>(byProcesses);
      if (aim == Aim.LEAST_TRAFFIC) {
        java.util.Collections.reverse(order);
      }
      return order;
    }

    private boolean isBetter(Cost cost) {
      boolean fewer = cost.processes() < bestCost.processes();
      boolean cheaper = cost.processorWeighted() < bestCost.processorWeighted();
      if (aim == Aim.FEWEST_PROCESSES) {
        return fewer || cost.processes() == bestCost.processes() && cheaper;
      }
      return cheaper || fewer && cost.processorWeighted() == bestCost.processorWeighted();
    }
  }
}
