package io.tapline.placement;

import java.util.Optional;
import java.util.random.RandomGenerator;

/**
 * Simulated annealing of small layouts: minimizes weighted traffic, including processors, with a
 * limited number of processes. Steps are single changes to a {@link Draft}, or a few changes to the
 * set of processes followed by a repair ({@link Draft#settle}); a worse draft is accepted with a
 * probability that falls with the temperature.
 */
final class Annealing {
  private static final int MAX_FLOWS = 512;
  private static final int MAX_HOSTS = 256;
  private static final double COOLED = 1e-4;

  private final Problem problem;
  private final int maxProcesses;
  private final RandomGenerator random;
  private final double overrun;
  private final Draft best;
  private double bestCost = Double.MAX_VALUE;

  private Annealing(Draft start, int maxProcesses, RandomGenerator random) {
    this.problem = start.problem;
    this.maxProcesses = maxProcesses;
    this.random = random;
    this.best = new Draft(start);
    this.overrun = 4.0 * Math.max(1, problem.sizes().extractedBps(problem.flows().totalBps()));
  }

  /**
   * Returns true if the problem has flows and is small. Large problems need too many steps, each
   * too expensive.
   */
  static boolean suits(Problem problem) {
    int flows = problem.flows().size();
    return flows > 0 && flows <= MAX_FLOWS && problem.topology().hostCount() <= MAX_HOSTS;
  }

  /** Returns the best layout found with at most {@code maxProcesses}; empty if none was found. */
  static Optional<Layout> improve(
      Draft start, int maxProcesses, int steps, RandomGenerator random) {
    Annealing annealing = new Annealing(start, maxProcesses, random);
    annealing.run(start, steps);
    return annealing.bestCost == Double.MAX_VALUE
        ? Optional.empty()
        : Optional.of(annealing.best.layout());
  }

  private void run(Draft start, int steps) {
    Draft draft = new Draft(start);
    Draft changedDraft = new Draft(start);
    double cost = cost(draft);
    remember(draft, cost);
    for (int step = 0; step < steps; step++) {
      double temperature = overrun / 8 * Math.pow(COOLED, (double) step / steps);
      changedDraft.copyFrom(draft);
      if (!change(changedDraft)) {
        continue;
      }
      double newCost = cost(changedDraft);
      if (newCost <= cost || random.nextDouble() < Math.exp((cost - newCost) / temperature)) {
        Draft previousDraft = draft;
        draft = changedDraft;
        changedDraft = previousDraft;
        cost = newCost;
        remember(draft, cost);
      }
    }
  }

  private void remember(Draft draft, double cost) {
    if (cost < bestCost && draft.processes() <= maxProcesses) {
      best.copyFrom(draft);
      bestCost = cost;
    }
  }

  /**
   * Returns the weighted traffic, with a penalty for each process beyond the limit. If the
   * processors can't take all traffic, returns {@code Double.MAX_VALUE}.
   */
  private double cost(Draft draft) {
    long weighted = draft.weighted();
    if (weighted < 0) {
      return Double.MAX_VALUE;
    }
    return weighted + overrun * Math.max(0, draft.processes() - maxProcesses);
  }

  private int any(int count) {
    return random.nextInt(count);
  }

  private boolean change(Draft draft) {
    return switch (any(14)) {
      case 0, 1 -> moveFlow(draft);
      case 2 -> exchangeFlows(draft);
      case 3 -> moveMonitor(draft);
      case 4 -> draft.rewire(any(draft.monitors.count), any(draft.aggregators.count));
      case 5 -> draft.moveAggregator(any(draft.aggregators.count), plausibleHost(draft));
      case 6 -> draft.moveProcessor(any(draft.processors.count), plausibleHost(draft));
      case 7 -> stop(draft) && random.nextBoolean() | start(draft);
      case 8 -> start(draft) && (random.nextBoolean() || stop(draft));
      case 9 -> moveRack(draft);
      default -> rebuild(draft);
    };
  }

  /** Changes a few processes, then reroutes all flows and tuples. */
  private boolean rebuild(Draft draft) {
    boolean hasAny = false;
    for (int changes = 1 + any(3); changes > 0; changes--) {
      hasAny |=
          switch (any(8)) {
            case 0 -> stop(draft);
            case 1 -> start(draft);
            case 2 -> moveMonitor(draft);
            case 3 -> draft.moveAggregator(any(draft.aggregators.count), plausibleHost(draft));
            case 4 -> draft.moveProcessor(any(draft.processors.count), plausibleHost(draft));
            case 5 -> moveRack(draft);
            case 6 -> moveHost(draft);
            default -> exchangeHosts(draft);
          };
    }
    if (hasAny) {
      draft.settle();
    }
    return hasAny;
  }

  private boolean moveFlow(Draft draft) {
    return draft.moveFlow(any(draft.monitorOfFlow.length), any(draft.monitors.count));
  }

  private boolean exchangeFlows(Draft draft) {
    int x = any(draft.monitorOfFlow.length);
    int y = any(draft.monitorOfFlow.length);
    int monitor = draft.monitorOfFlow[x];
    return draft.moveFlow(y, monitor) && draft.moveFlow(x, any(draft.monitors.count));
  }

  private boolean moveMonitor(Draft draft) {
    int monitor = any(draft.monitors.count);
    return draft.moveMonitor(monitor, anyIn(edgeOf(draft, monitor)));
  }

  private int edgeOf(Draft draft, int monitor) {
    return problem.topology().edgeOf(draft.monitors.host[monitor]);
  }

  private int anyIn(int edge) {
    int[] hosts = problem.topology().hostsOf(edge);
    return hosts[any(hosts.length)];
  }

  /** Returns a random host, preferably one that runs processes, or a neighbour of one. */
  private int plausibleHost(Draft draft) {
    return switch (any(5)) {
      case 0 -> draft.aggregators.host[any(draft.aggregators.count)];
      case 1 -> any(problem.topology().hostCount());
      case 2 -> anyIn(edgeOf(draft, any(draft.monitors.count)));
      default -> draft.monitors.host[any(draft.monitors.count)];
    };
  }

  private boolean moveHost(Draft draft) {
    int host = draft.aggregators.host[any(draft.aggregators.count)];
    return moveEngines(draft, host, plausibleHost(draft));
  }

  /** Moves the engines of one host to another. */
  private static boolean moveEngines(Draft draft, int oldHost, int newHost) {
    boolean hasAny = false;
    for (int a = 0; a < draft.aggregators.count; a++) {
      hasAny |= draft.aggregators.host[a] == oldHost && draft.moveAggregator(a, newHost);
    }
    for (int p = 0; p < draft.processors.count; p++) {
      hasAny |= draft.processors.host[p] == oldHost && draft.moveProcessor(p, newHost);
    }
    return hasAny;
  }

  /**
   * Moves a monitor to another host of its rack, and that host's engines to the monitor's old host.
   */
  private boolean exchangeHosts(Draft draft) {
    int monitor = any(draft.monitors.count);
    int oldHost = draft.monitors.host[monitor];
    int newHost = anyIn(edgeOf(draft, monitor));
    return moveEngines(draft, newHost, oldHost) | draft.moveMonitor(monitor, newHost);
  }

  private boolean stop(Draft draft) {
    return switch (any(3)) {
      case 0 -> stopMonitor(draft, any(draft.monitors.count));
      case 1 -> stopAggregator(draft, any(draft.aggregators.count));
      default -> {
        boolean hasSeveral = draft.processors.count > 1;
        if (hasSeveral) {
          draft.stopProcessor(any(draft.processors.count));
        }
        yield hasSeveral;
      }
    };
  }

  private boolean stopMonitor(Draft draft, int monitor) {
    for (int flow = 0; flow < draft.monitorOfFlow.length; flow++) {
      if (draft.monitorOfFlow[flow] == monitor && !moveToOtherMonitor(draft, flow)) {
        return false;
      }
    }
    draft.stopMonitor(monitor);
    return true;
  }

  private boolean moveToOtherMonitor(Draft draft, int flow) {
    int count = draft.monitors.count;
    int first = any(count);
    for (int i = 0; i < count; i++) {
      if (draft.moveFlow(flow, (first + i) % count)) {
        return true;
      }
    }
    return false;
  }

  private boolean stopAggregator(Draft draft, int aggregator) {
    int count = draft.aggregators.count;
    for (int m = 0; m < draft.monitors.count; m++) {
      int first = any(count);
      for (int i = 0; i < count && draft.aggregatorOfMonitor[m] == aggregator; i++) {
        draft.rewire(m, (first + i) % count);
      }
      if (draft.aggregatorOfMonitor[m] == aggregator) {
        return false;
      }
    }
    draft.stopAggregator(aggregator);
    return true;
  }

  private boolean start(Draft draft) {
    return switch (any(3)) {
      case 0 -> startMonitor(draft, plausibleRack());
      case 1 -> {
        int monitor = any(draft.monitors.count);
        int started = draft.startAggregator(draft.monitors.host[monitor]);
        yield started != Draft.NONE && draft.rewire(monitor, started);
      }
      default -> draft.startProcessor(plausibleHost(draft));
    };
  }

  /** Picks a random flow and returns the edge switch of one of its hosts. */
  private int plausibleRack() {
    int flow = any(problem.flows().size());
    return random.nextBoolean() ? problem.fromEdge(flow) : problem.toEdge(flow);
  }

  private boolean startMonitor(Draft draft, int edge) {
    int monitor = draft.startMonitor(anyIn(edge), any(draft.aggregators.count));
    if (monitor == Draft.NONE) {
      return false;
    }
    double share = random.nextDouble();
    boolean hasAny = false;
    for (int flow = 0; flow < draft.monitorOfFlow.length; flow++) {
      hasAny |= random.nextDouble() < share && draft.moveFlow(flow, monitor);
    }
    return hasAny;
  }

  /** Replaces a monitor with one in the rack of a random host that has flows. */
  private boolean moveRack(Draft draft) {
    int monitor = any(draft.monitors.count);
    int started = draft.startMonitor(anyIn(plausibleRack()), draft.aggregatorOfMonitor[monitor]);
    if (started == Draft.NONE) {
      return false;
    }
    for (int flow = 0; flow < draft.monitorOfFlow.length; flow++) {
      if (draft.monitorOfFlow[flow] == monitor) {
        draft.moveFlow(flow, started);
      }
    }
    return stopMonitor(draft, monitor);
  }
}
