package io.tapline.placement;

import io.tapline.network.LinkLevel;
import io.tapline.network.Path;
import io.tapline.network.Topology;
import java.util.EnumMap;
import java.util.Map;

/**
 * The cost of a layout for the network and the hosts.
 *
 * @param hops bits per second times links, monitors to aggregators only (the paper's bandwidth
 *     cost)
 * @param weighted like {@code hops}, with each link's weight (the paper's weighted-bandwidth cost)
 * @param processorHops like {@code hops}, including aggregators to processors
 * @param processorWeighted like {@code weighted}, including aggregators to processors
 * @param mirrorBps copies from edge switches to monitors: the same for every layout
 * @param levelBps extra traffic on each level of links: copies and tuples, over all hops
 * @param processes number of processes
 */
public record Cost(
    long hops,
    long weighted,
    long processorHops,
    long processorWeighted,
    long mirrorBps,
    Map<LinkLevel, Long> levelBps,
    int processes) {

  /** The links that count towards the traffic that a strategy minimizes. */
  public enum Objective {
    /** Monitors to aggregators only, as in the paper. */
    PAPER,
    /** Monitors to aggregators, and aggregators to processors. */
    WITH_PROCESSORS
  }

  /** Returns the weighted cost under an objective. */
  public long weighted(Objective objective) {
    return objective == Objective.PAPER ? weighted : processorWeighted;
  }

  /**
   * Returns true if each measure of traffic, and the number of processes, is at most that of the
   * other cost.
   */
  public boolean dominates(Cost otherCost) {
    return hops <= otherCost.hops
        && weighted <= otherCost.weighted
        && processorHops <= otherCost.processorHops
        && processorWeighted <= otherCost.processorWeighted
        && processes <= otherCost.processes;
  }

  /** Returns the cost of a layout. */
  public static Cost of(Problem problem, Layout layout) {
    Sum toAggregators = new Sum();
    for (int m = 0; m < layout.monitors().size(); m++) {
      Layout.Process monitor = layout.monitors().get(m);
      Layout.Process aggregator = layout.aggregators().get(layout.aggregatorOfMonitor()[m]);
      Path path = problem.topology().path(monitor.host(), aggregator.host());
      toAggregators.add(path, problem.sizes().extractedBps(monitor.inputBps()));
    }
    Sum all = new Sum(toAggregators);
    for (Layout.Stream stream : layout.streams()) {
      int sourceHost = layout.aggregators().get(stream.aggregator()).host();
      int targetHost = layout.processors().get(stream.processor()).host();
      all.add(problem.topology().path(sourceHost, targetHost), stream.bps());
    }
    long mirror = layout.monitors().stream().mapToLong(Layout.Process::inputBps).sum();
    all.level.merge(LinkLevel.HOST, mirror, Long::sum);
    return new Cost(
        toAggregators.hops,
        toAggregators.weighted,
        all.hops,
        all.weighted,
        mirror,
        Map.copyOf(all.level),
        layout.processes());
  }

  private static final class Sum {
    private long hops;
    private long weighted;
    private final Map<LinkLevel, Long> level = new EnumMap<>(LinkLevel.class);

    Sum() {
      for (LinkLevel linkLevel : LinkLevel.values()) {
        level.put(linkLevel, 0L);
      }
    }

    Sum(Sum other) {
      hops = other.hops;
      weighted = other.weighted;
      level.putAll(other.level);
    }

    void add(Path path, long bps) {
      hops += path.hops() * bps;
      weighted += path.weight() * bps;
      for (LinkLevel linkLevel : LinkLevel.values()) {
        level.merge(linkLevel, path.links(linkLevel) * bps, Long::sum);
      }
    }
  }

  /**
   * Returns the load that the flows themselves put on the network, in bits per second: plain, times
   * links, and times weights.
   */
  public static Workload workload(Topology topology, Flows flows) {
    long hops = 0;
    long weighted = 0;
    for (int flow = 0; flow < flows.size(); flow++) {
      Path path = topology.path(flows.from(flow), flows.to(flow));
      hops += path.hops() * flows.rateBps(flow);
      weighted += path.weight() * flows.rateBps(flow);
    }
    return new Workload(flows.totalBps(), hops, weighted);
  }

  /**
   * The load of the flows themselves, the denominators of relative costs.
   *
   * @param raw bits per second
   * @param hops bits per second times links
   * @param weighted bits per second times weights
   */
  public record Workload(long raw, long hops, long weighted) {}
}
