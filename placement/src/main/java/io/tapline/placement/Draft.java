package io.tapline.placement;

import io.tapline.network.Resources;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/**
 * A mutable layout of a small problem, which {@link Annealing} changes step by step. A change that
 * would exceed the capacity of a process or the resources of a host is rejected and has no effect.
 * Not thread-safe.
 */
final class Draft {
  static final int NONE = -1;

  final Problem problem;
  private final Sizes sizes;
  private final Distances distances;
  private final HostUse use;
  final int[] monitorOfFlow;
  final Pool monitors = new Pool();
  final Pool aggregators = new Pool();
  final Pool processors = new Pool();
  int[] aggregatorOfMonitor = new int[8];
  private long[] left = new long[8];
  private long[] room = new long[8];

  Draft(Problem problem, Distances distances, Layout layout) {
    this.problem = problem;
    this.sizes = problem.sizes();
    this.distances = distances;
    this.use = new HostUse(problem.topology());
    monitorOfFlow = layout.monitorOfFlow().clone();
    layout.monitors().forEach(p -> add(monitors, p, sizes.monitor()));
    aggregatorOfMonitor = Arrays.copyOf(layout.aggregatorOfMonitor(), monitors.host.length);
    layout.aggregators().forEach(p -> add(aggregators, p, sizes.aggregator()));
    layout.processors().forEach(p -> add(processors, p, sizes.processor()));
  }

  /** Creates an independent copy. */
  Draft(Draft other) {
    problem = other.problem;
    sizes = other.sizes;
    distances = other.distances;
    use = new HostUse(other.use);
    monitorOfFlow = other.monitorOfFlow.clone();
    copyFrom(other);
  }

  /** Replaces this layout with that of another draft of the same problem. */
  void copyFrom(Draft source) {
    use.copyFrom(source.use);
    System.arraycopy(source.monitorOfFlow, 0, monitorOfFlow, 0, monitorOfFlow.length);
    monitors.copyFrom(source.monitors);
    aggregators.copyFrom(source.aggregators);
    processors.copyFrom(source.processors);
    reserve();
    System.arraycopy(source.aggregatorOfMonitor, 0, aggregatorOfMonitor, 0, monitors.count);
  }

  private void reserve() {
    if (aggregatorOfMonitor.length < monitors.count) {
      aggregatorOfMonitor = Arrays.copyOf(aggregatorOfMonitor, monitors.host.length);
    }
  }

  private void add(Pool pool, Layout.Process process, Resources need) {
    pool.add(process.host(), process.inputBps());
    use.take(process.host(), need);
  }

  int processes() {
    return monitors.count + aggregators.count + processors.count;
  }

  private long extracted(int monitor) {
    return sizes.extractedBps(monitors.input[monitor]);
  }

  /**
   * Returns the weighted traffic to aggregators and processors; -1 if the processors can't take all
   * of it.
   */
  long weighted() {
    long cost = 0;
    for (int m = 0; m < monitors.count; m++) {
      int aggregator = aggregators.host[aggregatorOfMonitor[m]];
      cost += extracted(m) * distances.between(monitors.host[m], aggregator);
    }
    long toProcessors = addTraffic(null);
    return toProcessors < 0 ? -1 : cost + toProcessors;
  }

  /**
   * Assigns the output of aggregators to processors, nearest pairs first, which is optimal if the
   * network is a tree. Adds the streams to the list, unless it is null. Returns the weighted
   * traffic; -1 if the processors can't take all of it.
   */
  private long addTraffic(List<Layout.Stream> streams) {
    if (left.length < aggregators.count || room.length < processors.count) {
      left = new long[aggregators.host.length];
      room = new long[processors.host.length];
    }
    long unread = 0;
    for (int a = 0; a < aggregators.count; a++) {
      left[a] = aggregators.input[a];
      unread += left[a];
    }
    Arrays.fill(room, 0, processors.count, sizes.processorBps());
    long cost = 0;
    int[] levels = distances.levels();
    for (int i = 0; i < levels.length && unread > 0; i++) {
      long shipped = addTraffic(levels[i], streams);
      unread -= shipped;
      cost += shipped * levels[i];
    }
    return unread == 0 ? cost : -1;
  }

  /** Assigns output between pairs at this distance; returns the assigned bits per second. */
  private long addTraffic(int weight, List<Layout.Stream> streams) {
    long shipped = 0;
    for (int a = 0; a < aggregators.count; a++) {
      for (int p = 0; p < processors.count && left[a] > 0; p++) {
        if (room[p] > 0 && distances.between(aggregators.host[a], processors.host[p]) == weight) {
          long bps = Math.min(left[a], room[p]);
          left[a] -= bps;
          room[p] -= bps;
          shipped += bps;
          if (streams != null) {
            streams.add(new Layout.Stream(a, p, bps));
          }
        }
      }
    }
    return shipped;
  }

  /** Returns the layout. REQUIRES: the processors can take all traffic. */
  Layout layout() {
    List<Layout.Stream> streams = new ArrayList<>();
    addTraffic(streams);
    Arrays.fill(processors.input, 0);
    streams.forEach(stream -> processors.input[stream.processor()] += stream.bps());
    return new Layout(
        monitorOfFlow.clone(),
        monitors.processes(),
        Arrays.copyOf(aggregatorOfMonitor, monitors.count),
        aggregators.processes(),
        streams,
        processors.processes());
  }

  boolean covers(int monitor, int flow) {
    int edge = problem.topology().edgeOf(monitors.host[monitor]);
    return edge == problem.fromEdge(flow) || edge == problem.toEdge(flow);
  }

  /** Moves a flow to another monitor, if that one covers it. */
  boolean moveFlow(int flow, int newMonitor) {
    int oldMonitor = monitorOfFlow[flow];
    if (oldMonitor == newMonitor || !covers(newMonitor, flow)) {
      return false;
    }
    long rate = problem.flows().rateBps(flow);
    if (monitors.input[newMonitor] + rate > sizes.monitorBps()) {
      return false;
    }
    changeInput(oldMonitor, -rate);
    changeInput(newMonitor, rate);
    monitorOfFlow[flow] = newMonitor;
    if (aggregators.input[aggregatorOfMonitor[newMonitor]] > sizes.aggregatorBps()) {
      changeInput(newMonitor, -rate);
      changeInput(oldMonitor, rate);
      monitorOfFlow[flow] = oldMonitor;
      return false;
    }
    return true;
  }

  private void changeInput(int monitor, long rate) {
    long previousExtracted = extracted(monitor);
    monitors.input[monitor] += rate;
    aggregators.input[aggregatorOfMonitor[monitor]] += extracted(monitor) - previousExtracted;
  }

  private boolean relocate(Pool pool, int process, int host, Resources need) {
    int previousHost = pool.host[process];
    use.give(previousHost, need);
    boolean fits = use.fits(host, need);
    pool.host[process] = fits ? host : previousHost;
    use.take(pool.host[process], need);
    return fits && host != previousHost;
  }

  /** Moves a monitor to another host in its rack. */
  boolean moveMonitor(int monitor, int host) {
    int edge = problem.topology().edgeOf(monitors.host[monitor]);
    return problem.topology().edgeOf(host) == edge
        && relocate(monitors, monitor, host, sizes.monitor());
  }

  boolean moveAggregator(int aggregator, int host) {
    return relocate(aggregators, aggregator, host, sizes.aggregator());
  }

  boolean moveProcessor(int processor, int host) {
    return relocate(processors, processor, host, sizes.processor());
  }

  /** Makes a monitor write to another aggregator. */
  boolean rewire(int monitor, int newAggregator) {
    int oldAggregator = aggregatorOfMonitor[monitor];
    long bps = extracted(monitor);
    if (oldAggregator == newAggregator
        || aggregators.input[newAggregator] + bps > sizes.aggregatorBps()) {
      return false;
    }
    aggregators.input[oldAggregator] -= bps;
    aggregators.input[newAggregator] += bps;
    aggregatorOfMonitor[monitor] = newAggregator;
    return true;
  }

  private int start(Pool pool, int host, Resources need) {
    if (!use.fits(host, need)) {
      return NONE;
    }
    use.take(host, need);
    return pool.add(host, 0);
  }

  /** Starts a monitor without flows; returns its number, or {@link #NONE}. */
  int startMonitor(int host, int aggregator) {
    int started = start(monitors, host, sizes.monitor());
    if (started != NONE) {
      reserve();
      aggregatorOfMonitor[started] = aggregator;
    }
    return started;
  }

  /** Starts an aggregator without monitors; returns its number, or {@link #NONE}. */
  int startAggregator(int host) {
    return start(aggregators, host, sizes.aggregator());
  }

  boolean startProcessor(int host) {
    return start(processors, host, sizes.processor()) != NONE;
  }

  void stopProcessor(int processor) {
    use.give(processors.host[processor], sizes.processor());
    processors.remove(processor);
  }

  /** Stops a monitor. REQUIRES: it has no flows. */
  void stopMonitor(int monitor) {
    use.give(monitors.host[monitor], sizes.monitor());
    int last = monitors.count - 1;
    for (int flow = 0; flow < monitorOfFlow.length; flow++) {
      monitorOfFlow[flow] = monitorOfFlow[flow] == last ? monitor : monitorOfFlow[flow];
    }
    aggregatorOfMonitor[monitor] = aggregatorOfMonitor[last];
    monitors.remove(monitor);
  }

  /** Stops an aggregator. REQUIRES: no monitor writes to it. */
  void stopAggregator(int aggregator) {
    use.give(aggregators.host[aggregator], sizes.aggregator());
    int last = aggregators.count - 1;
    for (int m = 0; m < monitors.count; m++) {
      aggregatorOfMonitor[m] = aggregatorOfMonitor[m] == last ? aggregator : aggregatorOfMonitor[m];
    }
    aggregators.remove(aggregator);
  }

  /**
   * Adapts the layout to the locations of its processes: makes monitors write to the aggregator on
   * the shortest path to a processor, moves flows, in order, to the monitor with the shortest path,
   * and stops unused monitors and aggregators. Respects capacities.
   */
  void settle() {
    int[] toProcessor = new int[aggregators.count];
    for (int a = 0; a < toProcessor.length; a++) {
      toProcessor[a] = nearestProcessor(aggregators.host[a]);
    }
    int[] way = new int[monitors.count];
    for (int m = 0; m < way.length; m++) {
      way[m] = way(m, aggregatorOfMonitor[m], toProcessor);
      for (int a = 0; a < toProcessor.length; a++) {
        int otherWay = way(m, a, toProcessor);
        way[m] = otherWay < way[m] && rewire(m, a) ? otherWay : way[m];
      }
    }
    for (int flow = 0; flow < monitorOfFlow.length; flow++) {
      for (int m = 0; m < way.length; m++) {
        if (way[m] < way[monitorOfFlow[flow]]) {
          moveFlow(flow, m);
        }
      }
    }
    stopIdle();
  }

  private int nearestProcessor(int host) {
    int min = Integer.MAX_VALUE;
    for (int p = 0; p < processors.count; p++) {
      min = Math.min(min, distances.between(host, processors.host[p]));
    }
    return min;
  }

  /**
   * Returns the weight of a tuple's path from a monitor through an aggregator to the nearest
   * processor.
   */
  private int way(int monitor, int aggregator, int[] toProcessor) {
    int host = aggregators.host[aggregator];
    return toProcessor[aggregator] + distances.between(monitors.host[monitor], host);
  }

  private void stopIdle() {
    boolean[] used = new boolean[Math.max(monitors.count, aggregators.count)];
    for (int monitor : monitorOfFlow) {
      used[monitor] = true;
    }
    for (int m = monitors.count - 1; m >= 0; m--) {
      if (!used[m]) {
        stopMonitor(m);
      }
    }
    Arrays.fill(used, false);
    for (int m = 0; m < monitors.count; m++) {
      used[aggregatorOfMonitor[m]] = true;
    }
    for (int a = aggregators.count - 1; a >= 0; a--) {
      if (!used[a]) {
        stopAggregator(a);
      }
    }
  }
}
