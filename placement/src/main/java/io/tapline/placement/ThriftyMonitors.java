package io.tapline.placement;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.random.RandomGenerator;

/**
 * Places few, well-filled monitors. Flows within a rack can only be monitored there, so their racks
 * get monitors first. Flows between racks then fill the spare capacity. For the rest, the edge
 * switch that covers the most bits per second repeatedly gets a monitor. Finally, monitors whose
 * flows all fit elsewhere are removed. Linear in the number of flows.
 */
final class ThriftyMonitors implements MonitorPlacer {
  /** Number of flows that don't fit after which a monitor counts as full. */
  private static final int MISFITS = 64;

  @Override
  public Monitors place(Problem problem, HostUse use, RandomGenerator random) {
    problem.requireMonitorable();
    return new Run(problem, use).place();
  }

  private static final class Run {
    private final Problem problem;
    private final HostUse use;
    private final Coverage coverage;
    private final List<Integer> hosts = new ArrayList<>();
    private final List<List<Integer>> monitorsOfEdge = new ArrayList<>();
    private final boolean[] full;
    private long[] input = new long[16];

    Run(Problem problem, HostUse use) {
      this.problem = problem;
      this.use = use;
      coverage = new Coverage(problem);
      full = new boolean[problem.topology().edgeCount()];
      for (int edge = 0; edge < full.length; edge++) {
        monitorsOfEdge.add(new ArrayList<>());
      }
    }

    Monitors place() {
      for (int edge = 0; edge < full.length; edge++) {
        placeOwn(edge);
      }
      fillUp();
      placeRest();
      return withoutNeedless();
    }

    private long rate(int flow) {
      return problem.flows().rateBps(flow);
    }

    private boolean isOwn(int flow) {
      return problem.fromEdge(flow) == problem.toEdge(flow);
    }

    private int start(int edge) {
      int host = use.leastLoaded(edge, problem.sizes().monitor());
      if (host < 0) {
        full[edge] = true;
        return -1;
      }
      use.take(host, problem.sizes().monitor());
      int monitor = hosts.size();
      hosts.add(host);
      monitorsOfEdge.get(edge).add(monitor);
      if (monitor == input.length) {
        input = Arrays.copyOf(input, 2 * monitor);
      }
      return monitor;
    }

    private boolean take(int monitor, int flow) {
      boolean fits = input[monitor] + rate(flow) <= problem.sizes().monitorBps();
      if (fits) {
        input[monitor] += rate(flow);
        coverage.assign(flow, monitor);
      }
      return fits;
    }

    /** Places the flows that no other edge switch covers. */
    private void placeOwn(int edge) {
      for (int i = coverage.listBegin(edge); i < coverage.listEnd(edge); i++) {
        int flow = coverage.flowAt(i);
        if (isOwn(flow) && !takeAny(edge, flow)) {
          int monitor = start(edge);
          if (monitor < 0) {
            throw PaperMonitors.noRoom(problem, flow);
          }
          take(monitor, flow);
        }
      }
    }

    /**
     * Assigns the flow if one of the switch's last few monitors has room; earlier ones are almost
     * full.
     */
    private boolean takeAny(int edge, int flow) {
      List<Integer> monitors = monitorsOfEdge.get(edge);
      for (int i = monitors.size() - 1; i >= Math.max(0, monitors.size() - 4); i--) {
        if (take(monitors.get(i), flow)) {
          return true;
        }
      }
      return false;
    }

    private long slack(int edge) {
      long slack = 0;
      for (int monitor : monitorsOfEdge.get(edge)) {
        slack = Math.max(slack, problem.sizes().monitorBps() - input[monitor]);
      }
      return slack;
    }

    private void fillUp() {
      for (int flow = 0; flow < problem.flows().size(); flow++) {
        if (!coverage.isAssigned(flow)) {
          int sourceEdge = problem.fromEdge(flow);
          int targetEdge = problem.toEdge(flow);
          boolean fromFirst = slack(sourceEdge) >= slack(targetEdge);
          if (!takeAny(fromFirst ? sourceEdge : targetEdge, flow)) {
            takeAny(fromFirst ? targetEdge : sourceEdge, flow);
          }
        }
      }
    }

    private void placeRest() {
      long[] rest = new long[full.length];
      for (int flow = 0; flow < problem.flows().size(); flow++) {
        if (!coverage.isAssigned(flow)) {
          rest[problem.fromEdge(flow)] += rate(flow);
          rest[problem.toEdge(flow)] += rate(flow);
        }
      }
      while (coverage.left() > 0) {
        int edge = largest(rest);
        if (edge < 0) {
          throw PaperMonitors.noRoom(problem, coverage.anyLeft());
        }
        int monitor = start(edge);
        if (monitor >= 0) {
          fill(edge, monitor, rest);
        }
      }
    }

    private int largest(long[] rest) {
      int best = -1;
      for (int edge = 0; edge < full.length; edge++) {
        boolean isOpen = !full[edge] && coverage.unassigned(edge) > 0;
        if (isOpen && (best < 0 || rest[edge] > rest[best])) {
          best = edge;
        }
      }
      return best;
    }

    private void fill(int edge, int monitor, long[] rest) {
      coverage.peek(edge);
      int misfits = 0;
      for (int i = coverage.nextIndex(edge); i < coverage.listEnd(edge) && misfits < MISFITS; i++) {
        int flow = coverage.flowAt(i);
        if (coverage.isAssigned(flow)) {
          continue;
        }
        if (take(monitor, flow)) {
          rest[problem.fromEdge(flow)] -= rate(flow);
          rest[problem.toEdge(flow)] -= rate(flow);
        } else {
          misfits++;
        }
      }
    }

    /** Removes monitors whose flows all fit elsewhere, least used first. */
    private Monitors withoutNeedless() {
      int count = hosts.size();
      int[] monitorOfFlow = coverage.monitorOfFlow();
      int[] begin = new int[count + 1];
      for (int monitor : monitorOfFlow) {
        begin[monitor + 1]++;
      }
      Arrays.parallelPrefix(begin, Integer::sum);
      int[] flows = new int[monitorOfFlow.length];
      int[] positions = begin.clone();
      for (int flow = 0; flow < monitorOfFlow.length; flow++) {
        flows[positions[monitorOfFlow[flow]]++] = flow;
      }
      boolean[] gone = new boolean[count];
      List<Integer> bySize = new ArrayList<>();
      for (int m = 0; m < count; m++) {
        bySize.add(m);
      }
      bySize.sort((a, b) -> Long.compare(input[a], input[b]));
      boolean[] received = new boolean[count];
      for (int monitor : bySize) {
        if (!received[monitor]) {
          int[] own = Arrays.copyOfRange(flows, begin[monitor], begin[monitor + 1]);
          gone[monitor] = empty(monitor, own, gone, received);
        }
      }
      return compact(monitorOfFlow, gone);
    }

    private boolean empty(int monitor, int[] own, boolean[] gone, boolean[] received) {
      int[] monitorOfFlow = coverage.monitorOfFlow();
      int moved = 0;
      while (moved < own.length) {
        int target = roomElsewhere(monitor, own[moved], gone);
        if (target < 0) {
          break;
        }
        input[target] += rate(own[moved]);
        monitorOfFlow[own[moved++]] = target;
      }
      boolean all = moved == own.length;
      for (int i = 0; i < moved; i++) {
        if (all) {
          received[monitorOfFlow[own[i]]] = true;
        } else {
          input[monitorOfFlow[own[i]]] -= rate(own[i]);
          monitorOfFlow[own[i]] = monitor;
        }
      }
      return all;
    }

    private int roomElsewhere(int monitor, int flow, boolean[] gone) {
      for (int edge : new int[] {problem.fromEdge(flow), problem.toEdge(flow)}) {
        for (int candidate : monitorsOfEdge.get(edge)) {
          boolean hasRoom = input[candidate] + rate(flow) <= problem.sizes().monitorBps();
          if (candidate != monitor && !gone[candidate] && hasRoom) {
            return candidate;
          }
        }
      }
      return -1;
    }

    private Monitors compact(int[] monitorOfFlow, boolean[] gone) {
      int[] number = new int[gone.length];
      List<Layout.Process> monitors = new ArrayList<>();
      for (int m = 0; m < gone.length; m++) {
        number[m] = monitors.size();
        if (gone[m]) {
          use.give(hosts.get(m), problem.sizes().monitor());
        } else {
          monitors.add(new Layout.Process(hosts.get(m), input[m]));
        }
      }
      for (int flow = 0; flow < monitorOfFlow.length; flow++) {
        monitorOfFlow[flow] = number[monitorOfFlow[flow]];
      }
      return new Monitors(monitorOfFlow, monitors);
    }
  }
}
