package io.tapline.placement;

import io.tapline.network.Resources;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.function.Predicate;
import java.util.random.RandomGenerator;

/**
 * Layouts that trade traffic against processes. All have the same few monitors. They range from one
 * aggregator on every monitor's host to the fewest aggregators that {@link Clustering} finds.
 */
public final class ParetoFront {
  /** Fewer than twice this many distinct aggregator counts are tried. */
  private static final int MAX_LEVELS = 160;

  /**
   * One of the layouts.
   *
   * @param toAggregators weighted traffic from monitors to aggregators
   * @param toProcessors weighted traffic from aggregators to processors
   * @param remainders how aggregators share processors: the argument of {@link Remainders#readers}
   */
  public record Point(
      int processes, long toAggregators, long toProcessors, int aggregators, int remainders) {
    long weighted(Cost.Objective objective) {
      return objective == Cost.Objective.PAPER ? toAggregators : toAggregators + toProcessors;
    }
  }

  private final Problem problem;
  private final Cost.Objective objective;
  private final HostUse afterMonitors;
  private final MonitorPlacer.Monitors monitors;
  private final Clustering clustering;
  private final List<Point> points = new ArrayList<>();

  private ParetoFront(
      Problem problem, Cost.Objective objective, HostUse use, MonitorPlacer.Monitors monitors) {
    this.problem = problem;
    this.objective = objective;
    this.afterMonitors = use;
    this.monitors = monitors;
    Engines.Sources sources = Engines.Sources.monitors(monitors.monitors(), problem.sizes());
    clustering = Clustering.of(problem.topology(), sources, problem.sizes().aggregatorBps());
  }

  /** Computes the front of a problem. */
  public static ParetoFront of(Problem problem, Cost.Objective objective, RandomGenerator random) {
    HostUse use = new HostUse(problem.topology());
    MonitorPlacer.Monitors monitors = new ThriftyMonitors().place(problem, use, random);
    return of(problem, objective, use, monitors);
  }

  static ParetoFront of(
      Problem problem, Cost.Objective objective, HostUse use, MonitorPlacer.Monitors monitors) {
    ParetoFront front = new ParetoFront(problem, objective, use, monitors);
    front.collect();
    return front;
  }

  private void collect() {
    int levels = clustering.maxCount() - clustering.minCount() + 1;
    int step = Math.max(1, levels / MAX_LEVELS);
    for (int count = clustering.minCount(); count <= clustering.maxCount(); count += step) {
      List<Clustering.Cluster> clusters = clustering.clusters(count);
      long traffic = clusters.stream().mapToLong(cluster -> cluster.cost).sum();
      List<Layout.Process> aggregators = processes(clusters);
      Remainders rest = remainders(aggregators);
      int others = monitors.monitors().size() + count + rest.whole();
      for (int r = rest.minCount(); r <= rest.maxCount(); r++) {
        points.add(new Point(others + r, traffic, rest.traffic(r), count, r));
      }
      for (int way : new int[] {Remainders.POURED_BY_GROUP, Remainders.POURED}) {
        List<Remainders.Reader> readers = rest.readers(way);
        int processes = others + readers.size();
        points.add(new Point(processes, traffic, rest.traffic(readers), count, way));
      }
    }
    points.sort(
        Comparator.comparingInt(Point::processes).thenComparingLong(p -> p.weighted(objective)));
  }

  private static List<Layout.Process> processes(List<Clustering.Cluster> clusters) {
    return clusters.stream().map(c -> new Layout.Process(c.centre, c.bps)).toList();
  }

  private Remainders remainders(List<Layout.Process> aggregators) {
    return new Remainders(problem.topology(), aggregators, problem.sizes().processorBps());
  }

  /** Returns the Pareto-optimal points, by increasing number of processes. */
  public List<Point> points() {
    return best(points);
  }

  private List<Point> best(List<Point> ofThese) {
    List<Point> best = new ArrayList<>();
    for (Point point : ofThese) {
      if (best.isEmpty()
          || point.weighted(objective) < best.get(best.size() - 1).weighted(objective)) {
        best.add(point);
      }
    }
    return best;
  }

  /**
   * Returns the Pareto-optimal points among those that match, by increasing number of processes.
   */
  List<Point> points(Predicate<Point> wanted) {
    return best(points.stream().filter(wanted).toList());
  }

  /** Returns the layout that minimizes traffic plus this price per process. */
  public Layout cheapest(double pricePerProcess) {
    return layout(
        points().stream()
            .min(
                Comparator.comparingDouble(
                    p -> p.weighted(objective) + pricePerProcess * p.processes()))
            .orElseThrow());
  }

  /** Returns the layout of a point. */
  public Layout layout(Point point) {
    HostUse use = new HostUse(afterMonitors);
    Sizes sizes = problem.sizes();
    List<Clustering.Cluster> clusters = clustering.clusters(point.aggregators());
    int[] aggregatorOfMonitor = new int[monitors.monitors().size()];
    List<Layout.Process> aggregators = new ArrayList<>();
    for (Clustering.Cluster cluster : clusters) {
      int host =
          HostUse.required(
              use.nearest(cluster.centre, sizes.aggregator()), "aggregator", sizes.aggregator());
      use.take(host, sizes.aggregator());
      for (int member : cluster.members) {
        aggregatorOfMonitor[member] = aggregators.size();
      }
      aggregators.add(new Layout.Process(host, cluster.bps));
    }
    List<Layout.Process> processors = new ArrayList<>();
    List<Layout.Stream> streams = streams(aggregators, point.remainders(), use, processors);
    return new Layout(
        monitors.monitorOfFlow(),
        monitors.monitors(),
        aggregatorOfMonitor,
        aggregators,
        streams,
        processors);
  }

  private List<Layout.Stream> streams(
      List<Layout.Process> aggregators,
      int remainders,
      HostUse use,
      List<Layout.Process> processors) {
    long capacity = problem.sizes().processorBps();
    List<Layout.Stream> streams = new ArrayList<>();
    for (int a = 0; a < aggregators.size(); a++) {
      for (long i = 0; i < aggregators.get(a).inputBps() / capacity; i++) {
        streams.add(new Layout.Stream(a, processors.size(), capacity));
        processors.add(processor(aggregators.get(a).host(), capacity, use));
      }
    }
    for (Remainders.Reader reader : remainders(aggregators).readers(remainders)) {
      long bps = 0;
      for (Remainders.Share share : reader.shares()) {
        streams.add(new Layout.Stream(share.aggregator(), processors.size(), share.bps()));
        bps += share.bps();
      }
      processors.add(processor(reader.near(), bps, use));
    }
    return streams;
  }

  private Layout.Process processor(int near, long bps, HostUse use) {
    Resources need = problem.sizes().processor();
    int host = HostUse.required(use.nearest(near, need), "processor", need);
    use.take(host, need);
    return new Layout.Process(host, bps);
  }
}
