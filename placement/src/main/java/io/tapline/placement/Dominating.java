package io.tapline.placement;

import java.util.List;
import java.util.Optional;
import java.util.random.RandomGenerator;

/**
 * Improves on Netalytics-Network: never more traffic by any measure of {@link Cost}, never more
 * processes. First minimizes monitors. Then, a few times, computes the {@link Front} for these
 * monitors, chooses one of its points, steers flows to the monitors that suit it, and recomputes
 * the front. If it finds nothing better, returns the layout of Netalytics-Network.
 */
final class Dominating implements Strategy {
  /** Use of the slack below the bound. */
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
      Layout other = new Dominating(Aim.LEAST_TRAFFIC).place(problem, random);
      if (Cost.of(problem, other).dominates(bound)) {
        search.take(other);
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
     * Computes the front for these monitors and returns them with flows steered for the next round.
     */
    MonitorPlacer.Monitors round(MonitorPlacer.Monitors monitors, HostUse use) {
      Front front = Front.of(problem, Cost.Objective.WITH_PROCESSORS, use, monitors);
      Layout found = firstThatDominates(front, front.points(point -> isNear(point, 1)), TRIES);
      if (found == null) {
        lookAtAsMany(front);
        List<Front.Point> hopeful = order(front.points(point -> isNear(point, HOPE)));
        if (hopeful.isEmpty()) {
          return null;
        }
        found = front.layout(hopeful.get(0));
      } else {
        take(found);
      }
      return Steering.steer(problem, found);
    }

    private Layout firstThatDominates(Front front, List<Front.Point> byProcesses, int tries) {
      List<Front.Point> points = order(byProcesses);
      for (Front.Point point : points.subList(0, Math.min(tries, points.size()))) {
        Layout layout = front.layout(point);
        if (Cost.of(problem, layout).dominates(bound)) {
          return layout;
        }
      }
      return null;
    }

    /**
     * Looks for less traffic with the same number of processes, the result if no layout with fewer
     * is found.
     */
    private void lookAtAsMany(Front front) {
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

    /** Anneals the best layout so far for fewer and fewer processes until it finds none. */
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

    /** Restarts until several restarts in a row have found nothing better. */
    private boolean anneal(int maxProcesses, RandomGenerator random) {
      boolean found = false;
      int since = 0;
      for (int start = 0; start < MAX_STARTS && since < STARTS; start++) {
        Cost before = bestCost;
        found |= annealOnce(maxProcesses, start, random);
        since = bestCost.equals(before) ? since + 1 : 0;
      }
      return found;
    }

    /** Returns true if a permitted layout was found. */
    private boolean annealOnce(int maxProcesses, int start, RandomGenerator random) {
      Draft from = new Draft(problem, distances, start % 2 == 0 ? best : network);
      Optional<Layout> layout = Annealing.improve(from, maxProcesses, steps(), random);
      boolean found = layout.isPresent() && isAllowed(Cost.of(problem, layout.get()));
      if (found) {
        take(layout.get());
      }
      return found;
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

    private boolean isNear(Front.Point point, double factor) {
      boolean small =
          aim == Aim.FEWEST_PROCESSES
              ? point.processes() <= bound.processes()
              : point.processes() < bound.processes();
      return small && hasTraffic(point, factor);
    }

    private boolean hasTraffic(Front.Point point, double factor) {
      return point.toAggregators() <= factor * bound.weighted()
          && point.weighted(Cost.Objective.WITH_PROCESSORS) <= factor * bound.processorWeighted();
    }

    private List<Front.Point> order(List<Front.Point> byProcesses) {
      List<Front.Point> order = new java.util.ArrayList<>(byProcesses);
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
