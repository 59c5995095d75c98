package io.tapline.placement;

import io.tapline.network.Resources;
import io.tapline.network.Topology;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;

/** Applies a change to a {@link Deployment}. Not thread-safe. */
final class Reshaping {
  private static final int NONE = -1;

  private final Deployment before;
  private final Topology topology;
  private final Sizes sizes;
  private final Running running;
  private final HostUse use;
  private final List<List<Integer>> monitorsOfEdge = new ArrayList<>();

  Reshaping(Deployment previousDeployment) {
    this.before = previousDeployment;
    this.topology = previousDeployment.topology;
    this.sizes = previousDeployment.sizes;
    this.running = new Running(previousDeployment.running);
    this.use = new HostUse(topology);
    for (int edge = 0; edge < topology.edgeCount(); edge++) {
      monitorsOfEdge.add(new ArrayList<>());
    }
    running.monitors.values().forEach(m -> use.take(m.host(), sizes.monitor()));
    running.aggregators.values().forEach(a -> use.take(a.host(), sizes.aggregator()));
    running.processors.values().forEach(p -> use.take(p.host(), sizes.processor()));
    previousDeployment.closedHosts.forEach(use::close);
    running.monitors.forEach(
        (number, monitor) -> {
          if (!previousDeployment.closedHosts.contains(monitor.host())) {
            monitorsOfEdge.get(topology.edgeOf(monitor.host())).add(number);
          }
        });
  }

  /**
   * Assigns flows to monitors, starting some if necessary. Returns the number of each flow's
   * monitor.
   */
  int[] assign(Problem problem) {
    problem.requireMonitorable();
    int[] monitorOfFlow = new int[problem.flows().size()];
    for (int flow = 0; flow < monitorOfFlow.length; flow++) {
      long rate = problem.flows().rateBps(flow);
      monitorOfFlow[flow] = withRoom(problem.fromEdge(flow), problem.toEdge(flow), rate);
      if (monitorOfFlow[flow] == NONE) {
        monitorOfFlow[flow] = startMonitor(problem, flow);
      }
      load(monitorOfFlow[flow], rate);
    }
    return monitorOfFlow;
  }

  /**
   * Returns the monitor under either edge switch that has room and is nearest to its aggregator;
   * {@link #NONE} if none has room.
   */
  private int withRoom(int fromEdge, int toEdge, long rate) {
    int best = NONE;
    int bestWeight = Integer.MAX_VALUE;
    for (int edge : fromEdge == toEdge ? new int[] {fromEdge} : new int[] {fromEdge, toEdge}) {
      for (int number : monitorsOfEdge.get(edge)) {
        Running.Monitor monitor = running.monitors.get(number);
        Running.Aggregator aggregator = running.aggregators.get(monitor.aggregator());
        int weight = topology.weight(monitor.host(), aggregator.host());
        boolean hasRoom =
            monitor.inputBps() + rate <= sizes.monitorBps()
                && aggregator.inputBps() + more(monitor, rate) <= sizes.aggregatorBps();
        if (hasRoom && weight < bestWeight) {
          best = number;
          bestWeight = weight;
        }
      }
    }
    return best;
  }

  private long more(Running.Monitor monitor, long rate) {
    return sizes.extractedBps(monitor.inputBps() + rate) - sizes.extractedBps(monitor.inputBps());
  }

  private int startMonitor(Problem problem, int flow) {
    int host = use.leastLoaded(problem.fromEdge(flow), sizes.monitor());
    host = host >= 0 ? host : use.leastLoaded(problem.toEdge(flow), sizes.monitor());
    if (host < 0) {
      throw PaperMonitors.noRoom(problem, flow);
    }
    use.take(host, sizes.monitor());
    long first = sizes.extractedBps(problem.flows().rateBps(flow));
    int number = running.next++;
    int aggregator = aggregatorFor(host, first);
    running.monitors.put(number, new Running.Monitor(host, 0, aggregator));
    monitorsOfEdge.get(topology.edgeOf(host)).add(number);
    return number;
  }

  /**
   * Returns the nearest aggregator in the host's groups that this input leaves at most half full
   * or, if the input exceeds half an aggregator, that has room for it; else a new one.
   */
  private int aggregatorFor(int host, long bps) {
    int best = NONE;
    int bestWeight = Integer.MAX_VALUE;
    int edge = topology.edgeOf(host);
    for (Map.Entry<Integer, Running.Aggregator> entry : running.aggregators.entrySet()) {
      Running.Aggregator aggregator = entry.getValue();
      long laterInputBps = aggregator.inputBps() + bps;
      boolean hasRoom =
          laterInputBps <= sizes.aggregatorBps() / 2
              || bps > sizes.aggregatorBps() / 2 && laterInputBps <= sizes.aggregatorBps();
      boolean isNear = shareGroup(edge, topology.edgeOf(aggregator.host()));
      int weight =
          hasRoom && isNear && !before.closedHosts.contains(aggregator.host())
              ? topology.weight(host, aggregator.host())
              : bestWeight;
      if (weight < bestWeight) {
        best = entry.getKey();
        bestWeight = weight;
      }
    }
    return best != NONE ? best : startAggregator(host);
  }

  private boolean shareGroup(int edgeA, int edgeB) {
    for (int group : topology.groupsOf(edgeA)) {
      for (int otherGroup : topology.groupsOf(edgeB)) {
        if (group == otherGroup) {
          return true;
        }
      }
    }
    return false;
  }

  private int startAggregator(int near) {
    Resources need = sizes.aggregator();
    int host = HostUse.required(use.nearest(near, need), "aggregator", need);
    use.take(host, need);
    int number = running.next++;
    running.aggregators.put(number, new Running.Aggregator(host, 0, Map.of()));
    return number;
  }

  private void load(int number, long rate) {
    Running.Monitor monitor = running.monitors.get(number);
    long more = more(monitor, rate);
    running.monitors.put(
        number,
        new Running.Monitor(monitor.host(), monitor.inputBps() + rate, monitor.aggregator()));
    feed(monitor.aggregator(), more);
  }

  /** Removes a flow from a monitor. */
  void drop(int number, long rate) {
    load(number, -rate);
  }

  /**
   * Adds to an aggregator's input, and so to that of its processors; {@code more} may be negative.
   */
  private void feed(int number, long more) {
    Running.Aggregator aggregator = running.aggregators.get(number);
    TreeMap<Integer, Long> readers = new TreeMap<>(aggregator.readers());
    long left = more;
    while (left > 0 || readers.isEmpty()) {
      int processor = processorFor(aggregator.host(), readers);
      long bps =
          Math.min(left, sizes.processorBps() - running.processors.get(processor).inputBps());
      read(processor, bps);
      readers.merge(processor, bps, Long::sum);
      left -= bps;
    }
    while (left < 0) {
      int processor = readers.lastKey();
      long bps = Math.min(-left, readers.get(processor));
      read(processor, -bps);
      readers.put(processor, readers.get(processor) - bps);
      left += bps;
      if (readers.get(processor) == 0 && readers.size() > 1) {
        readers.remove(processor);
      }
    }
    long input = aggregator.inputBps() + more;
    running.aggregators.put(
        number, new Running.Aggregator(aggregator.host(), input, Map.copyOf(readers)));
  }

  private void read(int processor, long bps) {
    Layout.Process process = running.processors.get(processor);
    running.processors.put(processor, new Layout.Process(process.host(), process.inputBps() + bps));
  }

  /**
   * Returns a processor with room: one that already reads from the aggregator, else the nearest one
   * in the same group, else a new one.
   */
  private int processorFor(int host, Map<Integer, Long> readers) {
    int best = NONE;
    int bestWeight = Integer.MAX_VALUE;
    for (Map.Entry<Integer, Layout.Process> entry : running.processors.entrySet()) {
      Layout.Process process = entry.getValue();
      boolean hasRoom =
          process.inputBps() < sizes.processorBps() && !before.closedHosts.contains(process.host());
      if (hasRoom && readers.containsKey(entry.getKey())) {
        return entry.getKey();
      }
      boolean isNear =
          hasRoom && shareGroup(topology.edgeOf(host), topology.edgeOf(process.host()));
      int weight = isNear ? topology.weight(host, process.host()) : bestWeight;
      if (weight < bestWeight) {
        best = entry.getKey();
        bestWeight = weight;
      }
    }
    return best != NONE ? best : startProcessor(host);
  }

  private int startProcessor(int near) {
    Resources need = sizes.processor();
    int host = HostUse.required(use.nearest(near, need), "processor", need);
    use.take(host, need);
    int number = running.next++;
    running.processors.put(number, new Layout.Process(host, 0));
    return number;
  }

  Set<Integer> monitorsOn(int host) {
    Set<Integer> numbers = new HashSet<>();
    running.monitors.forEach(
        (number, monitor) -> {
          if (monitor.host() == host) {
            numbers.add(number);
          }
        });
    return numbers;
  }

  /** Moves the aggregators and processors of a host to other hosts, each as a whole. */
  void moveEngines(int host) {
    for (int number : List.copyOf(running.processors.keySet())) {
      Layout.Process process = running.processors.get(number);
      if (process.host() == host) {
        int elsewhere =
            HostUse.required(use.nearest(host, sizes.processor()), "processor", sizes.processor());
        use.take(elsewhere, sizes.processor());
        rename(number, running.next, elsewhere);
      }
    }
    for (int number : List.copyOf(running.aggregators.keySet())) {
      Running.Aggregator aggregator = running.aggregators.get(number);
      if (aggregator.host() == host) {
        int started = startAggregator(host);
        int elsewhere = running.aggregators.get(started).host();
        running.aggregators.remove(number);
        running.aggregators.put(
            started,
            new Running.Aggregator(elsewhere, aggregator.inputBps(), aggregator.readers()));
        running.monitors.replaceAll(
            (m, monitor) ->
                monitor.aggregator() == number
                    ? new Running.Monitor(monitor.host(), monitor.inputBps(), started)
                    : monitor);
      }
    }
  }

  private void rename(int processor, int started, int host) {
    running.next++;
    Layout.Process process = running.processors.remove(processor);
    running.processors.put(started, new Layout.Process(host, process.inputBps()));
    running.aggregators.replaceAll(
        (number, aggregator) -> {
          if (!aggregator.readers().containsKey(processor)) {
            return aggregator;
          }
          TreeMap<Integer, Long> readers = new TreeMap<>(aggregator.readers());
          readers.put(started, readers.remove(processor));
          return new Running.Aggregator(
              aggregator.host(), aggregator.inputBps(), Map.copyOf(readers));
        });
  }

  /** Stops monitors without flows, aggregators without monitors, processors without aggregators. */
  void stopIdle(Map<String, Deployment.Part> queries) {
    Set<Integer> monitors = new HashSet<>();
    for (Deployment.Part part : queries.values()) {
      for (int monitor : part.monitorOfFlow()) {
        monitors.add(monitor);
      }
    }
    running.monitors.keySet().retainAll(monitors);
    Set<Integer> aggregators = new HashSet<>();
    running.monitors.values().forEach(monitor -> aggregators.add(monitor.aggregator()));
    running.aggregators.keySet().retainAll(aggregators);
    Set<Integer> processors = new HashSet<>();
    running.aggregators.values().forEach(a -> processors.addAll(a.readers().keySet()));
    running.processors.keySet().retainAll(processors);
  }

  Deployment.Change change(
      Map<String, Deployment.Part> queries, Set<Integer> closed, long movedFlows) {
    Running was = before.running;
    int kept =
        common(was.monitors, running.monitors)
            + common(was.aggregators, running.aggregators)
            + common(was.processors, running.processors);
    int rewired = 0;
    for (Map.Entry<Integer, Running.Monitor> entry : running.monitors.entrySet()) {
      Running.Monitor oldMonitor = was.monitors.get(entry.getKey());
      rewired +=
          oldMonitor != null && oldMonitor.aggregator() != entry.getValue().aggregator() ? 1 : 0;
    }
    Deployment newDeployment =
        new Deployment(topology, sizes, Map.copyOf(queries), Set.copyOf(closed), running);
    return new Deployment.Change(
        newDeployment, running.processes() - kept, was.processes() - kept, movedFlows, rewired);
  }

  private static int common(Map<Integer, ?> a, Map<Integer, ?> b) {
    return (int) a.keySet().stream().filter(b::containsKey).count();
  }
}
