package io.tapline.bench.micro;

import io.tapline.network.FatTree;
import io.tapline.network.HostMaker;
import io.tapline.network.Topology;
import io.tapline.placement.Deployment;
import io.tapline.placement.Flows;
import io.tapline.placement.Sizes;
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
 * Measures the time to add a query with 1,000 flows to running queries of the same size in a fat
 * tree of k=48, or to remove it.
 */
@State(Scope.Benchmark)
@BenchmarkMode(Mode.SampleTime)
@OutputTimeUnit(TimeUnit.MILLISECONDS)
@Fork(1)
@Warmup(iterations = 3, time = 1)
@Measurement(iterations = 3, time = 1)
public class DeploymentBench {
  private static final int K = 48;
  private static final int FLOWS = 1000;
  private static final double MEAN_BPS = 1e6;

  @Param({"10", "100", "1000"})
  private int running;

  private Deployment deployment;
  private Deployment withOneMore;
  private Flows one;

  /** Starts the other queries. */
  @Setup
  public void start() {
    SplittableRandom random = new SplittableRandom(1);
    Topology topology = FatTree.of(K, HostMaker.ofPaper(random));
    deployment = Deployment.empty(topology, Sizes.PAPER);
    for (int query = 0; query < running; query++) {
      Flows flows = Workload.even(topology, K, FLOWS, MEAN_BPS, random);
      deployment = deployment.add("q" + query, flows).after();
    }
    one = Workload.even(topology, K, FLOWS, MEAN_BPS, random);
    withOneMore = add().after();
  }

  @Benchmark
  public Deployment.Change add() {
    return deployment.add("one more", one);
  }

  @Benchmark
  public Deployment.Change remove() {
    return withOneMore.remove("one more");
  }
}
