package io.tapline.placement;

import com.google.ortools.Loader;
import com.google.ortools.linearsolver.MPConstraint;
import com.google.ortools.linearsolver.MPObjective;
import com.google.ortools.linearsolver.MPSolver;
import com.google.ortools.linearsolver.MPVariable;
import io.tapline.network.Topology;
import java.util.Map;
import java.util.TreeMap;

/**
 * Lower bounds for all layouts, for problems too large for {@link Exact}.
 *
 * <p>Processes: flows within a rack need monitors in that rack, and the total rates of flows and of
 * tuples each require a minimum number of processes. Traffic: a linear program (OR-Tools' GLOP)
 * that allows flows to be divided between their two racks, aggregators and processors to be
 * fractional, and all processes within a rack to share a host. Tuples sent outside of a rack's
 * groups cost the weight to the nearest rack there.
 */
public final class LowerBound {
  private static final double INFINITE = Double.POSITIVE_INFINITY;
  private static final double SCALE = 1e-6;

  private final Problem problem;
  private final Topology topology;
  private final int edges;

  private LowerBound(Problem problem) {
    this.problem = problem;
    this.topology = problem.topology();
    this.edges = topology.edgeCount();
  }

  /** Returns a lower bound on the number of monitors in any layout. */
  public static int monitors(Problem problem) {
    return new LowerBound(problem).monitors();
  }

  /** Returns a lower bound on the number of processes in any layout. */
  public static int processes(Problem problem) {
    LowerBound bound = new LowerBound(problem);
    return bound.monitors() + bound.aggregators() + bound.processors();
  }

  /**
   * Returns a lower bound on the weighted traffic, including processors, of any layout with at most
   * this number of processes.
   */
  public static double weighted(Problem problem, int maxProcesses) {
    Loader.loadNativeLibraries();
    return new LowerBound(problem).solve(maxProcesses);
  }

  private static int divideUp(long amount, long part) {
    return (int) ((amount + part - 1) / part);
  }

  private long extracted() {
    return problem.sizes().extractedBps(problem.flows().totalBps());
  }

  private int aggregators() {
    return Math.max(1, divideUp(extracted(), problem.sizes().aggregatorBps()));
  }

  private int processors() {
    return Math.max(1, divideUp(extracted(), problem.sizes().processorBps()));
  }

  private int monitors() {
    long[] own = new long[edges];
    boolean[] needs = new boolean[edges];
    for (int flow = 0; flow < problem.flows().size(); flow++) {
      if (problem.fromEdge(flow) == problem.toEdge(flow)) {
        own[problem.fromEdge(flow)] += problem.flows().rateBps(flow);
        needs[problem.fromEdge(flow)] = true;
      }
    }
    int sum = 0;
    for (int edge = 0; edge < edges; edge++) {
      int capacity = divideUp(own[edge], problem.sizes().monitorBps());
      sum += needs[edge] ? Math.max(1, capacity) : 0;
    }
    sum += disjointPairs(needs);
    return Math.max(sum, divideUp(problem.flows().totalBps(), problem.sizes().monitorBps()));
  }

  /**
   * Counts disjoint pairs of racks with flows between them, excluding taken racks: each pair needs
   * a monitor. Marks their racks as taken.
   */
  private int disjointPairs(boolean[] taken) {
    int pairs = 0;
    for (int flow = 0; flow < problem.flows().size(); flow++) {
      int sourceEdge = problem.fromEdge(flow);
      int targetEdge = problem.toEdge(flow);
      if (!taken[sourceEdge] && !taken[targetEdge]) {
        taken[sourceEdge] = true;
        taken[targetEdge] = true;
        pairs++;
      }
    }
    return pairs;
  }

  /** Returns tuple rates in Mb/s, by the pair of racks that the flows connect. */
  private Map<Long, Double> classes() {
    Map<Long, Double> classes = new TreeMap<>();
    double share = problem.sizes().extractedPerMille() / 1000.0 * SCALE;
    for (int flow = 0; flow < problem.flows().size(); flow++) {
      long low = Math.min(problem.fromEdge(flow), problem.toEdge(flow));
      long high = Math.max(problem.fromEdge(flow), problem.toEdge(flow));
      classes.merge(low << 32 | high, problem.flows().rateBps(flow) * share, Double::sum);
    }
    return classes;
  }

  private double solve(int maxProcesses) {
    MPSolver solver = MPSolver.createSolver("GLOP");
    MPObjective cost = solver.objective();
    MPConstraint[] flows = new MPConstraint[edges];
    double[] max = new double[edges];
    for (int edge = 0; edge < edges; edge++) {
      flows[edge] = solver.makeConstraint(0, 0);
    }
    divide(solver, flows, max);
    MPConstraint budget = solver.makeConstraint(-INFINITE, maxProcesses - monitors());
    MPVariable[] aggregators = engines(solver, budget, aggregators());
    MPVariable[] processors = engines(solver, budget, processors());
    MPConstraint[] read = new MPConstraint[edges];
    for (int edge = 0; edge < edges; edge++) {
      read[edge] = solver.makeConstraint(0, 0);
    }
    addTraffic(
        solver, cost, flows, max, aggregators, problem.sizes().aggregatorBps() * SCALE, read);
    addTraffic(solver, cost, read, null, processors, problem.sizes().processorBps() * SCALE, null);
    cost.setMinimization();
    MPSolver.ResultStatus status = solver.solve();
    if (status != MPSolver.ResultStatus.OPTIMAL) {
      throw new IllegalStateException(
          "no bound for %d processes: %s".formatted(maxProcesses, status));
    }
    return cost.value() / SCALE;
  }

  /**
   * Lets the flows of each pair of racks be divided between the two racks, and adds up each rack's
   * maximum output.
   */
  private void divide(MPSolver solver, MPConstraint[] flows, double[] max) {
    classes()
        .forEach(
            (pair, tuples) -> {
              int low = (int) (pair >> 32);
              int high = (int) (long) pair;
              max[low] += tuples;
              if (low == high) {
                flows[low].setBounds(flows[low].lb() - tuples, flows[low].ub() - tuples);
                return;
              }
              max[high] += tuples;
              MPVariable atLow = solver.makeNumVar(0, tuples, "");
              flows[low].setCoefficient(atLow, 1);
              flows[high].setCoefficient(atLow, -1);
              flows[high].setBounds(flows[high].lb() - tuples, flows[high].ub() - tuples);
            });
  }

  private MPVariable[] engines(MPSolver solver, MPConstraint budget, int fewest) {
    MPVariable[] engines = new MPVariable[edges];
    MPConstraint sum = solver.makeConstraint(fewest, INFINITE);
    for (int edge = 0; edge < edges; edge++) {
      engines[edge] = solver.makeNumVar(0, INFINITE, "");
      budget.setCoefficient(engines[edge], 1);
      sum.setCoefficient(engines[edge], 1);
    }
    return engines;
  }

  /**
   * Lets all output of racks flow to engines in the same rack, in a rack of the same group, or in
   * any other rack.
   *
   * @param flows for each rack, the constraint that its output equals its input
   * @param max upper bounds on the racks' output, or null if unknown
   * @param received for each rack, the constraint to which its arrivals are added; or null
   */
  private void addTraffic(
      MPSolver solver,
      MPObjective cost,
      MPConstraint[] flows,
      double[] max,
      MPVariable[] engines,
      double capacity,
      MPConstraint[] received) {
    MPConstraint far = solver.makeConstraint(0, 0);
    for (int targetEdge = 0; targetEdge < edges; targetEdge++) {
      MPConstraint full = solver.makeConstraint(-INFINITE, 0);
      full.setCoefficient(engines[targetEdge], -capacity);
      for (int sourceEdge : near(targetEdge)) {
        MPVariable sent = solver.makeNumVar(0, INFINITE, "");
        flows[sourceEdge].setCoefficient(sent, -1);
        arrive(sent, full, received == null ? null : received[targetEdge]);
        cost.setCoefficient(sent, sourceEdge == targetEdge ? 0 : weight(sourceEdge, targetEdge));
        if (max != null) {
          MPConstraint openConstraint = solver.makeConstraint(-INFINITE, 0);
          openConstraint.setCoefficient(sent, 1);
          openConstraint.setCoefficient(engines[targetEdge], -Math.min(max[sourceEdge], capacity));
        }
      }
      MPVariable sent = solver.makeNumVar(0, INFINITE, "");
      flows[targetEdge].setCoefficient(sent, -1);
      far.setCoefficient(sent, 1);
      cost.setCoefficient(sent, farthest(targetEdge));
      MPVariable arrived = solver.makeNumVar(0, INFINITE, "");
      far.setCoefficient(arrived, -1);
      arrive(arrived, full, received == null ? null : received[targetEdge]);
    }
  }

  private static void arrive(
      MPVariable amount, MPConstraint full, MPConstraint receivedConstraint) {
    full.setCoefficient(amount, 1);
    if (receivedConstraint != null) {
      receivedConstraint.setCoefficient(amount, 1);
    }
  }

  private int[] near(int edge) {
    return java.util.Arrays.stream(topology.groupsOf(edge))
        .flatMap(group -> java.util.Arrays.stream(topology.edgesOf(group)))
        .distinct()
        .toArray();
  }

  private int weight(int sourceEdge, int targetEdge) {
    return topology.edgePath(sourceEdge, targetEdge).weight()
        + hostLink(sourceEdge)
        + hostLink(targetEdge);
  }

  private int hostLink(int edge) {
    int min = Integer.MAX_VALUE;
    for (int host : topology.hostsOf(edge)) {
      min = Math.min(min, topology.host(host).linkWeight());
    }
    return min;
  }

  /**
   * Returns the minimum weight to a rack that shares no group with this one; 0 if there is none.
   */
  private double farthest(int edge) {
    int[] near = near(edge);
    double min = INFINITE;
    for (int otherEdge = 0; otherEdge < edges; otherEdge++) {
      int candidate = otherEdge;
      if (java.util.Arrays.stream(near).noneMatch(e -> e == candidate)) {
        min = Math.min(min, weight(edge, otherEdge));
      }
    }
    return min == INFINITE ? 0 : min;
  }
}
