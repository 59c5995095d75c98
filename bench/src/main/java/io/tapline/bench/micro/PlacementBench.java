package io.tapline.bench.micro;

import io.tapline.network.FatTree;
import io.tapline.network.HostMaker;
import io.tapline.network.Topology;
import io.tapline.placement.Flows;
import io.tapline.placement.Layout;
import io.tapline.placement.Problem;
import io.tapline.placement.Sizes;
import io.tapline.sim.placement.PlacementExperiment;
import io.tapline.sim.placement.Workload;
import java.util.SplittableRandom;
import java.util.concurrent.TimeUnit;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Fork;
import org.openjdk.jmh.annotations.Measurement;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.Warmup;

/**
 * Measures the time to place different numbers of flows with a total rate of 4 Tb/s. The network is
 * a fat tree of k=48 with 27,648 hosts. There is no warm-up.
 */
@State(Scope.Benchmark)
@BenchmarkMode(Mode.SingleShotTime)
@OutputTimeUnit(TimeUnit.MILLISECONDS)
@Fork(1)
@Warmup(iterations = 0)
@Measurement(iterations = 1)
public class PlacementBench {
  private static final int K = 48;
  private static final double TOTAL_BPS = 4e12;

  @Param({"1250000", "2500000", "5000000", "10000000"})
  private int flows;

  @Param({"local-random", "netalytics-node", "netalytics-network", "tapline-network"})
  private String strategy;

  private Problem problem;

  /** Generates the flows. */
  @Setup
  public void draw() {
    SplittableRandom random = new SplittableRandom(1);
    Topology topology = FatTree.of(K, HostMaker.ofPaper(random));
    Flows flowSet = Workload.even(topology, K, flows, TOTAL_BPS / flows, random);
    problem = new Problem(topology, flowSet, Sizes.PAPER);
  }

  @Benchmark
  public Layout place() {
    return PlacementExperiment.STRATEGIES.get(strategy).place(problem, new SplittableRandom(1));
  }
}
