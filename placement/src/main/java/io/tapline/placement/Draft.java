package io.tapline.placement;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/**
 * A layout of a small problem that can be changed piece by piece; {@link Annealing} does so. Every
 * change keeps capacities and room, or is refused and changes nothing. Not thread-safe.
 */
final class Draft {
  static final int NONE = -1;

  final Problem problem;
  private final HostUse use;
  private final int[] distances;
  final int[] monitorOfFlow;
  final List<Integer> monitorHost = new ArrayList<>();
  final List<Long> monitorInput = new ArrayList<>();
  final List<Integer> aggregatorOfMonitor = new ArrayList<>();
  final List<Integer> aggregatorHost = new ArrayList<>();
  final List<Long> aggregatorInput = new ArrayList<>();
  final List<Integer> processorHost = new ArrayList<>();

  Draft(Problem problem, Layout layout) {
    this.problem = problem;
    this.use = new HostUse(problem.topology());
    this.distances = weights(problem.topology());
    monitorOfFlow = layout.monitorOfFlow().clone();
    layout
        .monitors()
        .forEach(p -> started(monitorHost, monitorInput, p, problem.sizes().monitor()));
    Arrays.stream(layout.aggregatorOfMonitor()).forEach(aggregatorOfMonitor::add);
    layout
        .aggregators()
        .forEach(p -> started(aggregatorHost, aggregatorInput, p, problem.sizes().aggregator()));
    layout.processors().forEach(p -> startProcessor(p.host()));
  }

  /** An independent copy. */
  Draft(Draft other) {
    problem = other.problem;
    use = new HostUse(other.use);
    distances = other.distances;
    monitorOfFlow = other.monitorOfFlow.clone();
    monitorHost.addAll(other.monitorHost);
    monitorInput.addAll(other.monitorInput);
    aggregatorOfMonitor.addAll(other.aggregatorOfMonitor);
    aggregatorHost.addAll(other.aggregatorHost);
    aggregatorInput.addAll(other.aggregatorInput);
    processorHost.addAll(other.processorHost);
  }

  private void started(
      List<Integer> hosts, List<Long> input, Layout.Process process, Resources need) {
    hosts.add(process.host());
    input.add(process.inputBps());
    use.take(process.host(), need);
  }

  /** The different weights of paths in the topology, ascending. */
  private static int[] weights(Topology topology) {
    java.util.TreeSet<Integer> weights = new java.util.TreeSet<>();
    for (int a = 0; a < topology.hostCount(); a++) {
      weights.add(topology.weight(0, a));
      for (int b = 0; b < a && topology.hostCount() <= 256; b++) {
        weights.add(topology.weight(a, b));
      }
    }
    return weights.stream().mapToInt(Integer::intValue).toArray();
  }

  int processes() {
    return monitorHost.size() + aggregatorHost.size() + processorHost.size();
  }

  private long extracted(int monitor) {
    return problem.sizes().extractedBps(monitorInput.get(monitor));
  }

  /** Weighted traffic to aggregators and processors; -1 if the processors can't take it all. */
  long weighted() {
    long cost = 0;
    for (int m = 0; m < monitorHost.size(); m++) {
      int aggregator = aggregatorHost.get(aggregatorOfMonitor.get(m));
      cost += extracted(m) * problem.topology().weight(monitorHost.get(m), aggregator);
    }
    long toProcessors = ship(null);
    return toProcessors < 0 ? -1 : cost + toProcessors;
  }

  /**
   * Gives what aggregators have to processors, the nearest pairs first: the cheapest way where
   * distances are those of a tree.
   */
  private long ship(List<Layout.Stream> streams) {
    long[] left = aggregatorInput.stream().mapToLong(Long::longValue).toArray();
    long[] room = new long[processorHost.size()];
    Arrays.fill(room, problem.sizes().processorBps());
    long cost = 0;
    for (int weight : distances) {
      for (int a = 0; a < left.length; a++) {
        for (int p = 0; p < room.length && left[a] > 0; p++) {
          boolean near =
              problem.topology().weight(aggregatorHost.get(a), processorHost.get(p)) == weight;
          long bps = near ? Math.min(left[a], room[p]) : 0;
          if (bps > 0) {
            left[a] -= bps;
            room[p] -= bps;
            cost += bps * weight;
            if (streams != null) {
              streams.add(new Layout.Stream(a, p, bps));
            }
          }
        }
      }
    }
    return Arrays.stream(left).allMatch(bps -> bps == 0) ? cost : -1;
  }

  /** REQUIRES: processors can take it all. */
  Layout layout() {
    List<Layout.Stream> streams = new ArrayList<>();
    ship(streams);
    long[] read = new long[processorHost.size()];
    streams.forEach(stream -> read[stream.processor()] += stream.bps());
    List<Layout.Process> processors = new ArrayList<>();
    for (int p = 0; p < read.length; p++) {
      processors.add(new Layout.Process(processorHost.get(p), read[p]));
    }
    return new Layout(
        monitorOfFlow.clone(),
        processes(monitorHost, monitorInput),
        aggregatorOfMonitor.stream().mapToInt(Integer::intValue).toArray(),
        processes(aggregatorHost, aggregatorInput),
        streams,
        processors);
  }

  private static List<Layout.Process> processes(List<Integer> hosts, List<Long> input) {
    List<Layout.Process> processes = new ArrayList<>();
    for (int i = 0; i < hosts.size(); i++) {
      processes.add(new Layout.Process(hosts.get(i), input.get(i)));
    }
    return processes;
  }

  boolean covers(int monitor, int flow) {
    int edge = problem.topology().edgeOf(monitorHost.get(monitor));
    return edge == problem.fromEdge(flow) || edge == problem.toEdge(flow);
  }

  /** Gives a flow to another monitor. */
  boolean moveFlow(int flow, int to) {
    int from = monitorOfFlow[flow];
    if (from == to || !covers(to, flow)) {
      return false;
    }
    long rate = problem.flows().rateBps(flow);
    if (monitorInput.get(to) + rate > problem.sizes().monitorBps()) {
      return false;
    }
    changeInput(from, -rate);
    changeInput(to, rate);
    monitorOfFlow[flow] = to;
    if (aggregatorInput.get(aggregatorOfMonitor.get(to)) > problem.sizes().aggregatorBps()) {
      changeInput(to, -rate);
      changeInput(from, rate);
      monitorOfFlow[flow] = from;
      return false;
    }
    return true;
  }

  private void changeInput(int monitor, long rate) {
    int aggregator = aggregatorOfMonitor.get(monitor);
    long before = extracted(monitor);
    monitorInput.set(monitor, monitorInput.get(monitor) + rate);
    aggregatorInput.set(aggregator, aggregatorInput.get(aggregator) + extracted(monitor) - before);
  }

  private boolean relocate(List<Integer> hosts, int process, int host, Resources need) {
    int before = hosts.get(process);
    use.give(before, need);
    boolean fits = use.fits(host, need);
    use.take(fits ? host : before, need);
    hosts.set(process, fits ? host : before);
    return fits && host != before;
  }

  /** Moves a monitor within its rack. */
  boolean moveMonitor(int monitor, int host) {
    int edge = problem.topology().edgeOf(monitorHost.get(monitor));
    return problem.topology().edgeOf(host) == edge
        && relocate(monitorHost, monitor, host, problem.sizes().monitor());
  }

  boolean moveAggregator(int aggregator, int host) {
    return relocate(aggregatorHost, aggregator, host, problem.sizes().aggregator());
  }

  boolean moveProcessor(int processor, int host) {
    return relocate(processorHost, processor, host, problem.sizes().processor());
  }

  /** Lets a monitor write to another aggregator. */
  boolean rewire(int monitor, int to) {
    int from = aggregatorOfMonitor.get(monitor);
    long bps = extracted(monitor);
    if (from == to || aggregatorInput.get(to) + bps > problem.sizes().aggregatorBps()) {
      return false;
    }
    aggregatorInput.set(from, aggregatorInput.get(from) - bps);
    aggregatorInput.set(to, aggregatorInput.get(to) + bps);
    aggregatorOfMonitor.set(monitor, to);
    return true;
  }

  /** Starts a monitor without flows; its number, or {@link #NONE}. */
  int startMonitor(int host, int aggregator) {
    if (!use.fits(host, problem.sizes().monitor())) {
      return NONE;
    }
    use.take(host, problem.sizes().monitor());
    monitorHost.add(host);
    monitorInput.add(0L);
    aggregatorOfMonitor.add(aggregator);
    return monitorHost.size() - 1;
  }

  /** Starts an aggregator without monitors; its number, or {@link #NONE}. */
  int startAggregator(int host) {
    if (!use.fits(host, problem.sizes().aggregator())) {
      return NONE;
    }
    use.take(host, problem.sizes().aggregator());
    aggregatorHost.add(host);
    aggregatorInput.add(0L);
    return aggregatorHost.size() - 1;
  }

  boolean startProcessor(int host) {
    boolean fits = use.fits(host, problem.sizes().processor());
    if (fits) {
      use.take(host, problem.sizes().processor());
      processorHost.add(host);
    }
    return fits;
  }

  void stopProcessor(int processor) {
    use.give(processorHost.remove(processor), problem.sizes().processor());
  }

  /** REQUIRES: it has no flows. */
  void stopMonitor(int monitor) {
    use.give(monitorHost.get(monitor), problem.sizes().monitor());
    int last = monitorHost.size() - 1;
    for (int flow = 0; flow < monitorOfFlow.length; flow++) {
      monitorOfFlow[flow] = monitorOfFlow[flow] == last ? monitor : monitorOfFlow[flow];
    }
    monitorHost.set(monitor, monitorHost.get(last));
    monitorInput.set(monitor, monitorInput.get(last));
    aggregatorOfMonitor.set(monitor, aggregatorOfMonitor.get(last));
    monitorHost.remove(last);
    monitorInput.remove(last);
    aggregatorOfMonitor.remove(last);
  }

  /** REQUIRES: no monitor writes to it. */
  void stopAggregator(int aggregator) {
    use.give(aggregatorHost.get(aggregator), problem.sizes().aggregator());
    int last = aggregatorHost.size() - 1;
    aggregatorOfMonitor.replaceAll(a -> a == last ? aggregator : a);
    aggregatorHost.set(aggregator, aggregatorHost.get(last));
    aggregatorInput.set(aggregator, aggregatorInput.get(last));
    aggregatorHost.remove(last);
    aggregatorInput.remove(last);
  }
}
