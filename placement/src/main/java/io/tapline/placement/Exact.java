package io.tapline.placement;

import com.google.ortools.Loader;
import com.google.ortools.sat.BoolVar;
import com.google.ortools.sat.CpModel;
import com.google.ortools.sat.CpSolver;
import com.google.ortools.sat.CpSolverStatus;
import com.google.ortools.sat.IntVar;
import com.google.ortools.sat.LinearExpr;
import com.google.ortools.sat.LinearExprBuilder;
import io.tapline.network.Host;
import io.tapline.network.Resources;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/**
 * Computes the minimum weighted traffic of any layout with a maximum number of processes, using the
 * CP-SAT solver of OR-Tools. For small problems: tens of hosts and flows.
 *
 * <p>Variables: whether a host has a monitor; the monitor of each flow; the number of aggregators
 * on a host, and the aggregator of each monitor; the number of processors on a host, and their
 * input. REQUIRES: a host's NIC has room for only one monitor, and all rates are multiples of
 * {@link #UNIT_BPS}, so that the output of monitors is a whole number of units.
 */
public final class Exact {
  /** 10 Mb/s. With {@link Sizes#PAPER}, monitors emit a tenth, so the model's unit is 1 Mb/s. */
  public static final long UNIT_BPS = 10_000_000L;

  /**
   * The optimum, or the best result within the time limit.
   *
   * @param proven false if time ran out; {@code weighted} is then the best value found,
   *     Long.MAX_VALUE if none was found
   * @param weighted bits per second times weights, as in {@link Cost}
   * @param bound lower bound for any layout
   */
  public record Optimum(boolean proven, long weighted, long bound, int processes) {}

  private final Problem problem;
  private final Cost.Objective objective;
  private final int maxProcesses;
  private final CpModel model = new CpModel();
  private final int hosts;
  private final BoolVar[] monitor;
  private final IntVar[] processors;
  private final List<Slot> slots = new ArrayList<>();
  private final LinearExprBuilder cost = LinearExpr.newBuilder();
  private final LinearExprBuilder processes = LinearExpr.newBuilder();
  private final long unit;

  /** An aggregator that may be started on a host. */
  private record Slot(int host, BoolVar used, LinearExprBuilder input) {}

  private Exact(Problem problem, Cost.Objective objective, int maxProcesses) {
    this.problem = problem;
    this.objective = objective;
    this.maxProcesses = maxProcesses;
    hosts = problem.topology().hostCount();
    monitor = new BoolVar[hosts];
    processors = new IntVar[hosts];
    unit = problem.sizes().extractedBps(UNIT_BPS);
  }

  /**
   * Solves the problem.
   *
   * @param known traffic of a known layout with at most {@code maxProcesses} processes, as an upper
   *     bound; Long.MAX_VALUE if there is none
   * @param seconds time limit
   * @return empty if no layout has at most {@code maxProcesses} processes and {@code known} traffic
   */
  public static Optional<Optimum> solve(
      Problem problem, Cost.Objective objective, int maxProcesses, long known, double seconds) {
    Loader.loadNativeLibraries();
    return new Exact(problem, objective, maxProcesses).solve(known, seconds);
  }

  private Optional<Optimum> solve(long known, double seconds) {
    addMonitors();
    addAggregators();
    addFlows();
    addProcessors();
    addRoom();
    model.addLessOrEqual(processes.build(), maxProcesses);
    if (known != Long.MAX_VALUE) {
      model.addLessOrEqual(cost.build(), known / unit);
    }
    model.minimize(cost.build());
    CpSolver solver = new CpSolver();
    solver.getParameters().setMaxTimeInSeconds(seconds).setNumWorkers(2).setLogToStdout(false);
    CpSolverStatus status = solver.solve(model);
    if (status == CpSolverStatus.INFEASIBLE) {
      return Optional.empty();
    } else if (status != CpSolverStatus.OPTIMAL && status != CpSolverStatus.FEASIBLE) {
      return Optional.of(new Optimum(false, Long.MAX_VALUE, 0, maxProcesses));
    }
    long best = Math.round(solver.objectiveValue()) * unit;
    long bound = Math.round(Math.ceil(solver.bestObjectiveBound() - 1e-6)) * unit;
    int count = (int) solver.value(processes.build());
    return Optional.of(new Optimum(status == CpSolverStatus.OPTIMAL, best, bound, count));
  }

  private long units(int flow) {
    long rate = problem.flows().rateBps(flow);
    if (rate % UNIT_BPS != 0) {
      throw new IllegalArgumentException("rates must be multiples of " + UNIT_BPS);
    }
    return rate / UNIT_BPS;
  }

  private void addMonitors() {
    for (int h = 0; h < hosts; h++) {
      monitor[h] = model.newBoolVar("monitor" + h);
      processes.add(monitor[h]);
    }
  }

  /**
   * Adds as many aggregators to each host as it has room for. They must be used in order, which
   * breaks symmetries.
   */
  private void addAggregators() {
    for (int g = 0; g < hosts; g++) {
      BoolVar previousVariable = null;
      for (int i = 0; i < Math.min(room(g, problem.sizes().aggregator()), maxAggregators()); i++) {
        BoolVar used = model.newBoolVar("aggregator" + g + "." + i);
        processes.add(used);
        if (previousVariable != null) {
          model.addImplication(used, previousVariable);
        }
        previousVariable = used;
        slots.add(new Slot(g, used, LinearExpr.newBuilder()));
      }
    }
  }

  /**
   * Returns an upper bound on the number of aggregators: the maximum number of processes minus the
   * fewest monitors and processors.
   */
  private int maxAggregators() {
    long total = problem.flows().totalBps();
    long fewestMonitors = divideUp(total, problem.sizes().monitorBps());
    long fewestProcessors =
        divideUp(problem.sizes().extractedBps(total), problem.sizes().processorBps());
    return (int) Math.max(1, maxProcesses - fewestMonitors - Math.max(1, fewestProcessors));
  }

  /**
   * Adds the constraints that each flow takes one path, through a monitor that covers it and
   * through that monitor's aggregator, and that these have enough capacity.
   */
  private void addFlows() {
    BoolVar[][] writes = new BoolVar[hosts][slots.size()];
    LinearExprBuilder[] taken = new LinearExprBuilder[hosts];
    for (int h = 0; h < hosts; h++) {
      taken[h] = LinearExpr.newBuilder();
      for (int s = 0; s < writes[h].length; s++) {
        writes[h][s] = model.newBoolVar("writes");
        model.addImplication(writes[h][s], slots.get(s).used());
      }
      model.addEquality(LinearExpr.sum(writes[h]), monitor[h]);
    }
    for (int flow = 0; flow < problem.flows().size(); flow++) {
      addWays(flow, writes, taken);
    }
    for (int h = 0; h < hosts; h++) {
      long capacity = problem.sizes().monitorBps() / UNIT_BPS;
      model.addLessOrEqual(taken[h].build(), LinearExpr.term(monitor[h], capacity));
    }
    for (Slot slot : slots) {
      long capacity = problem.sizes().aggregatorBps() / unit;
      model.addLessOrEqual(slot.input().build(), LinearExpr.term(slot.used(), capacity));
    }
  }

  private void addWays(int flow, BoolVar[][] writes, LinearExprBuilder[] taken) {
    List<BoolVar> ways = new ArrayList<>();
    for (int h = 0; h < hosts; h++) {
      int edge = problem.topology().edgeOf(h);
      if (edge == problem.fromEdge(flow) || edge == problem.toEdge(flow)) {
        List<BoolVar> candidates = new ArrayList<>();
        for (int s = 0; s < slots.size(); s++) {
          BoolVar way = model.newBoolVar("way");
          model.addImplication(way, writes[h][s]);
          candidates.add(way);
          slots.get(s).input().addTerm(way, units(flow));
          long weight = problem.topology().weight(h, slots.get(s).host());
          cost.addTerm(way, units(flow) * weight);
        }
        LinearExpr any = LinearExpr.sum(candidates.toArray(BoolVar[]::new));
        model.addLessOrEqual(any, monitor[h]);
        taken[h].addTerm(any, units(flow));
        ways.addAll(candidates);
      }
    }
    model.addExactlyOne(ways.toArray(BoolVar[]::new));
  }

  /** Adds the constraint that processors read all input of aggregators. */
  private void addProcessors() {
    long capacity = problem.sizes().processorBps() / unit;
    LinearExprBuilder all = LinearExpr.newBuilder();
    for (int q = 0; q < hosts; q++) {
      int max = Math.min(room(q, problem.sizes().processor()), maxProcesses);
      processors[q] = model.newIntVar(0, max, "processors" + q);
      processes.add(processors[q]);
      all.add(processors[q]);
    }
    long needed = problem.sizes().extractedBps(problem.flows().totalBps()) / unit;
    model.addGreaterOrEqual(all.build(), Math.max(1, divideUp(needed, capacity)));
    LinearExprBuilder[] read = new LinearExprBuilder[hosts];
    for (int q = 0; q < hosts; q++) {
      read[q] = LinearExpr.newBuilder();
    }
    for (int g = 0; g < hosts; g++) {
      LinearExprBuilder output = LinearExpr.newBuilder();
      LinearExprBuilder input = LinearExpr.newBuilder();
      int host = g;
      slots.stream().filter(s -> s.host() == host).forEach(s -> input.add(s.input().build()));
      for (int q = 0; q < hosts; q++) {
        IntVar units = model.newIntVar(0, maxProcesses * capacity, "read");
        output.add(units);
        read[q].add(units);
        if (objective == Cost.Objective.WITH_PROCESSORS) {
          cost.addTerm(units, problem.topology().weight(g, q));
        }
      }
      model.addEquality(output.build(), input.build());
    }
    for (int q = 0; q < hosts; q++) {
      model.addLessOrEqual(read[q].build(), LinearExpr.term(processors[q], capacity));
    }
  }

  private static long divideUp(long amount, long part) {
    return (amount + part - 1) / part;
  }

  private int room(int host, Resources need) {
    Host h = problem.topology().host(host);
    long cpus = (h.total().cpuMillis() - h.used().cpuMillis()) / Math.max(1, need.cpuMillis());
    long memory = (h.total().memoryMib() - h.used().memoryMib()) / Math.max(1, need.memoryMib());
    return (int) Math.min(cpus, memory);
  }

  private void addRoom() {
    Sizes sizes = problem.sizes();
    for (int h = 0; h < hosts; h++) {
      Host host = problem.topology().host(h);
      LinearExprBuilder cpu = LinearExpr.newBuilder();
      LinearExprBuilder memory = LinearExpr.newBuilder();
      cpu.addTerm(monitor[h], sizes.monitor().cpuMillis());
      memory.addTerm(monitor[h], sizes.monitor().memoryMib());
      cpu.addTerm(processors[h], sizes.processor().cpuMillis());
      memory.addTerm(processors[h], sizes.processor().memoryMib());
      for (Slot slot : slots) {
        if (slot.host() == h) {
          cpu.addTerm(slot.used(), sizes.aggregator().cpuMillis());
          memory.addTerm(slot.used(), sizes.aggregator().memoryMib());
        }
      }
      model.addLessOrEqual(cpu.build(), host.total().cpuMillis() - host.used().cpuMillis());
      model.addLessOrEqual(memory.build(), host.total().memoryMib() - host.used().memoryMib());
    }
  }
}
