package io.tapline.placement;

import java.util.ArrayList;
import java.util.List;

/**
 * Moves each flow to the monitor with the shortest path to its aggregator, among those that cover
 * the flow and have room. Processes stay in place. Linear in the number of flows.
 */
final class Steering {
  private final Problem problem;
  private final Layout layout;
  private final int[] of;
  private final long[] input;
  private final long[] aggregated;
  private final int[] weight;
  private final List<List<Integer>> monitorsOfEdge = new ArrayList<>();

  private Steering(Problem problem, Layout layout) {
    this.problem = problem;
    this.layout = layout;
    of = layout.monitorOfFlow().clone();
    input = layout.monitors().stream().mapToLong(Layout.Process::inputBps).toArray();
    aggregated = layout.aggregators().stream().mapToLong(Layout.Process::inputBps).toArray();
    weight = new int[input.length];
    for (int edge = 0; edge < problem.topology().edgeCount(); edge++) {
      monitorsOfEdge.add(new ArrayList<>());
    }
    for (int m = 0; m < input.length; m++) {
      int host = layout.monitors().get(m).host();
      int aggregator = layout.aggregatorOfMonitor()[m];
      weight[m] = problem.topology().weight(host, layout.aggregators().get(aggregator).host());
      monitorsOfEdge.get(problem.topology().edgeOf(host)).add(m);
    }
  }

  static MonitorPlacer.Monitors steer(Problem problem, Layout layout) {
    Steering steering = new Steering(problem, layout);
    for (int flow = 0; flow < steering.of.length; flow++) {
      steering.steer(flow);
    }
    List<Layout.Process> monitors = new ArrayList<>();
    for (int m = 0; m < steering.input.length; m++) {
      monitors.add(new Layout.Process(layout.monitors().get(m).host(), steering.input[m]));
    }
    return new MonitorPlacer.Monitors(steering.of, monitors);
  }

  private void steer(int flow) {
    int best = cheaper(flow, problem.fromEdge(flow), of[flow]);
    best = cheaper(flow, problem.toEdge(flow), best);
    if (best != of[flow]) {
      change(of[flow], -problem.flows().rateBps(flow));
      change(best, problem.flows().rateBps(flow));
      of[flow] = best;
    }
  }

  private int cheaper(int flow, int edge, int than) {
    int best = than;
    for (int monitor : monitorsOfEdge.get(edge)) {
      if (weight[monitor] < weight[best] && fits(flow, monitor)) {
        best = monitor;
      }
    }
    return best;
  }

  private boolean fits(int flow, int monitor) {
    long rate = problem.flows().rateBps(flow);
    int aggregator = layout.aggregatorOfMonitor()[monitor];
    boolean isSame = layout.aggregatorOfMonitor()[of[flow]] == aggregator;
    long extracted = problem.sizes().extractedBps(rate) + 1;
    return input[monitor] + rate <= problem.sizes().monitorBps()
        && (isSame || aggregated[aggregator] + extracted <= problem.sizes().aggregatorBps());
  }

  private void change(int monitor, long rate) {
    int aggregator = layout.aggregatorOfMonitor()[monitor];
    aggregated[aggregator] -= problem.sizes().extractedBps(input[monitor]);
    input[monitor] += rate;
    aggregated[aggregator] += problem.sizes().extractedBps(input[monitor]);
  }
}
