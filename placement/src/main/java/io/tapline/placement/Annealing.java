package io.tapline.placement;

import java.util.Optional;
import java.util.random.RandomGenerator;

/**
 * Simulated annealing of small layouts: least weighted traffic, processors included, with at most
 * so many processes. Steps are single changes to a {@link Draft}; a worse draft is kept with a
 * probability that falls with the temperature.
 */
final class Annealing {
  private static final int MOST_FLOWS = 512;
  private static final int MOST_HOSTS = 256;
  private static final double COOLED = 1e-4;

  private final Problem problem;
  private final int mostProcesses;
  private final RandomGenerator random;
  private final double overrun;
  private Draft best;
  private double bestCost = Double.MAX_VALUE;

  private Annealing(Problem problem, int mostProcesses, RandomGenerator random) {
    this.problem = problem;
    this.mostProcesses = mostProcesses;
    this.random = random;
    this.overrun = 4.0 * Math.max(1, problem.sizes().extractedBps(problem.flows().totalBps()));
  }

  /** Beyond some size a step costs too much and there are too many to try. */
  static boolean suits(Problem problem) {
    return problem.flows().size() <= MOST_FLOWS && problem.topology().hostCount() <= MOST_HOSTS;
  }

  /** The best layout found within the number of processes; empty if none was. */
  static Optional<Layout> improve(
      Problem problem, Layout start, int mostProcesses, int steps, RandomGenerator random) {
    Annealing annealing = new Annealing(problem, mostProcesses, random);
    annealing.run(new Draft(problem, start), steps);
    return Optional.ofNullable(annealing.best).map(Draft::layout);
  }

  private void run(Draft start, int steps) {
    Draft draft = start;
    double cost = cost(draft);
    remember(draft, cost);
    for (int step = 0; step < steps; step++) {
      double temperature = overrun / 8 * Math.pow(COOLED, (double) step / steps);
      Draft changed = new Draft(draft);
      if (!change(changed)) {
        continue;
      }
      double then = cost(changed);
      if (then <= cost || random.nextDouble() < Math.exp((cost - then) / temperature)) {
        draft = changed;
        cost = then;
        remember(draft, cost);
      }
    }
  }

  private void remember(Draft draft, double cost) {
    if (cost < bestCost && draft.processes() <= mostProcesses) {
      best = new Draft(draft);
      bestCost = cost;
    }
  }

  /** Traffic; a process too many costs more than any traffic saves. */
  private double cost(Draft draft) {
    long weighted = draft.weighted();
    if (weighted < 0) {
      return Double.MAX_VALUE;
    }
    return weighted + overrun * Math.max(0, draft.processes() - mostProcesses);
  }

  private int any(int count) {
    return random.nextInt(count);
  }

  private boolean change(Draft draft) {
    return switch (any(12)) {
      case 0, 1, 2 -> moveFlow(draft);
      case 3 -> exchangeFlows(draft);
      case 4 -> moveMonitor(draft);
      case 5, 6 -> draft.rewire(any(draft.monitorHost.size()), any(draft.aggregatorHost.size()));
      case 7 -> draft.moveAggregator(any(draft.aggregatorHost.size()), likelyHost(draft));
      case 8 -> draft.moveProcessor(any(draft.processorHost.size()), likelyHost(draft));
      case 9 -> stop(draft) && random.nextBoolean() | start(draft);
      case 10 -> start(draft) && (random.nextBoolean() || stop(draft));
      default -> moveRack(draft);
    };
  }

  private boolean moveFlow(Draft draft) {
    return draft.moveFlow(any(draft.monitorOfFlow.length), any(draft.monitorHost.size()));
  }

  private boolean exchangeFlows(Draft draft) {
    int x = any(draft.monitorOfFlow.length);
    int y = any(draft.monitorOfFlow.length);
    int of = draft.monitorOfFlow[x];
    return draft.moveFlow(y, of) && draft.moveFlow(x, any(draft.monitorHost.size()));
  }

  private boolean moveMonitor(Draft draft) {
    int monitor = any(draft.monitorHost.size());
    return draft.moveMonitor(monitor, anyIn(edgeOf(draft, monitor)));
  }

  private int edgeOf(Draft draft, int monitor) {
    return problem.topology().edgeOf(draft.monitorHost.get(monitor));
  }

  private int anyIn(int edge) {
    int[] hosts = problem.topology().hostsOf(edge);
    return hosts[any(hosts.length)];
  }

  /** Mostly where something runs already. */
  private int likelyHost(Draft draft) {
    return switch (any(4)) {
      case 0 -> draft.aggregatorHost.get(any(draft.aggregatorHost.size()));
      case 1 -> any(problem.topology().hostCount());
      default -> draft.monitorHost.get(any(draft.monitorHost.size()));
    };
  }

  private boolean stop(Draft draft) {
    return switch (any(3)) {
      case 0 -> stopMonitor(draft, any(draft.monitorHost.size()));
      case 1 -> stopAggregator(draft, any(draft.aggregatorHost.size()));
      default -> {
        boolean several = draft.processorHost.size() > 1;
        if (several) {
          draft.stopProcessor(any(draft.processorHost.size()));
        }
        yield several;
      }
    };
  }

  private boolean stopMonitor(Draft draft, int monitor) {
    for (int flow = 0; flow < draft.monitorOfFlow.length; flow++) {
      if (draft.monitorOfFlow[flow] == monitor && !moveElsewhere(draft, flow)) {
        return false;
      }
    }
    draft.stopMonitor(monitor);
    return true;
  }

  private boolean moveElsewhere(Draft draft, int flow) {
    int count = draft.monitorHost.size();
    int first = any(count);
    for (int i = 0; i < count; i++) {
      if (draft.moveFlow(flow, (first + i) % count)) {
        return true;
      }
    }
    return false;
  }

  private boolean stopAggregator(Draft draft, int aggregator) {
    int count = draft.aggregatorHost.size();
    for (int m = 0; m < draft.monitorHost.size(); m++) {
      int first = any(count);
      for (int i = 0; i < count && draft.aggregatorOfMonitor.get(m) == aggregator; i++) {
        draft.rewire(m, (first + i) % count);
      }
      if (draft.aggregatorOfMonitor.get(m) == aggregator) {
        return false;
      }
    }
    draft.stopAggregator(aggregator);
    return true;
  }

  private boolean start(Draft draft) {
    return switch (any(3)) {
      case 0 -> startMonitor(draft, likelyRack(draft));
      case 1 -> {
        int monitor = any(draft.monitorHost.size());
        int started = draft.startAggregator(draft.monitorHost.get(monitor));
        yield started != Draft.NONE && draft.rewire(monitor, started);
      }
      default -> draft.startProcessor(likelyHost(draft));
    };
  }

  /** An edge switch of some flow. */
  private int likelyRack(Draft draft) {
    int flow = any(draft.monitorOfFlow.length);
    return random.nextBoolean() ? problem.fromEdge(flow) : problem.toEdge(flow);
  }

  private boolean startMonitor(Draft draft, int edge) {
    int monitor = draft.startMonitor(anyIn(edge), any(draft.aggregatorHost.size()));
    if (monitor == Draft.NONE) {
      return false;
    }
    double share = random.nextDouble();
    boolean any = false;
    for (int flow = 0; flow < draft.monitorOfFlow.length; flow++) {
      any |= random.nextDouble() < share && draft.moveFlow(flow, monitor);
    }
    return any;
  }

  /** Replaces a monitor by one in another rack. */
  private boolean moveRack(Draft draft) {
    int monitor = any(draft.monitorHost.size());
    int started =
        draft.startMonitor(anyIn(likelyRack(draft)), draft.aggregatorOfMonitor.get(monitor));
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
