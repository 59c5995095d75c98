package io.tapline.placement;

import io.tapline.network.Resources;
import io.tapline.network.Topology;
import java.util.ArrayList;
import java.util.List;
import java.util.random.RandomGenerator;

/**
 * Algorithm 1 of NetAlytics (4.1): picks an edge switch that covers a flow, puts a monitor on the
 * switch's least loaded host, and assigns flows of that switch to it until one does not fit. This
 * repeats until every flow has a monitor. The paper does not say what happens if no host of the
 * switch has room: this implementation then skips the switch permanently.
 */
final class PaperMonitors implements MonitorPlacer {
  /** The rule for picking the edge switch. */
  enum Pick {
    /** A random switch that covers a flow without a monitor. */
    RANDOM,
    /** The switch that covers the most flows without a monitor. */
    MAX_FLOWS
  }

  private final Pick pick;

  PaperMonitors(Pick pick) {
    this.pick = pick;
  }

  @Override
  public Monitors place(Problem problem, HostUse use, RandomGenerator random) {
    problem.requireMonitorable();
    Coverage coverage = new Coverage(problem);
    boolean[] full = new boolean[problem.topology().edgeCount()];
    List<Layout.Process> monitors = new ArrayList<>();
    while (coverage.left() > 0) {
      int edge = pick == Pick.RANDOM ? random(coverage, full, random) : fullest(coverage, full);
      if (edge < 0) {
        throw noRoom(problem, coverage.anyLeft());
      }
      int host = use.leastLoaded(edge, problem.sizes().monitor());
      if (host < 0) {
        full[edge] = true;
      } else {
        use.take(host, problem.sizes().monitor());
        monitors.add(fill(problem, coverage, edge, host, monitors.size()));
      }
    }
    return new Monitors(coverage.monitorOfFlow(), monitors);
  }

  private static Layout.Process fill(
      Problem problem, Coverage coverage, int edge, int host, int monitor) {
    long input = 0;
    int flow = coverage.peek(edge);
    while (flow != Coverage.NONE
        && input + problem.flows().rateBps(flow) <= problem.sizes().monitorBps()) {
      coverage.assign(flow, monitor);
      input += problem.flows().rateBps(flow);
      flow = coverage.peek(edge);
    }
    return new Layout.Process(host, input);
  }

  private static int fullest(Coverage coverage, boolean[] full) {
    int best = -1;
    for (int edge = 0; edge < full.length; edge++) {
      boolean isOpen = !full[edge] && coverage.unassigned(edge) > 0;
      if (isOpen && (best < 0 || coverage.unassigned(edge) > coverage.unassigned(best))) {
        best = edge;
      }
    }
    return best;
  }

  private static int random(Coverage coverage, boolean[] full, RandomGenerator random) {
    int seen = 0;
    int picked = -1;
    for (int edge = 0; edge < full.length; edge++) {
      if (!full[edge] && coverage.unassigned(edge) > 0 && random.nextInt(++seen) == 0) {
        picked = edge;
      }
    }
    return picked;
  }

  static PlacementException noRoom(Problem problem, int flow) {
    Topology topology = problem.topology();
    Resources need = problem.sizes().monitor();
    String message =
        "no host under %s or %s has room for another monitor, which needs %.2f CPUs, %,d MiB and %,d bit/s of NIC:"
            + " free a host there, or sample the query";
    return new PlacementException(
        PlacementException.Code.NO_HOST,
        message.formatted(
            topology.edgeName(problem.fromEdge(flow)),
            topology.edgeName(problem.toEdge(flow)),
            need.cpuMillis() / 1000.0,
            need.memoryMib(),
            need.nicBps()));
  }
}
