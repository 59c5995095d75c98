package io.tapline.sim.placement;

import io.tapline.network.Topology;
import io.tapline.placement.Flows;
import java.util.random.RandomGenerator;

/**
 * Random flows in a fat tree, as described in the paper's section 6.2: half stay in their rack,
 * three tenths in their pod, and two tenths leave their pod. Rates are log-normal: heavy-tailed as
 * in Benson et al. (IMC 2010), with the median at 1/7.4 of the mean.
 */
public final class Workload {
  private static final double IN_RACK = 0.5;
  private static final double IN_POD = 0.3;
  private static final double SIGMA = 2.0;
  private static final long LARGEST_BPS = 1_000_000_000L;
  private static final int TOTAL_FLOWS = 1_000_000;
  private static final double TOTAL_BPS = 1.2e12;
  private static final double PER_HOST_FLOW_BPS = 80_000;

  private final Topology topology;
  private final int hostsPerRack;
  private final int hostsPerPod;
  private final RandomGenerator random;

  private Workload(Topology topology, int k, RandomGenerator random) {
    this.topology = topology;
    this.hostsPerRack = k / 2;
    this.hostsPerPod = k * k / 4;
    this.random = random;
  }

  /**
   * Returns all flows of the data center.
   *
   * @param topology a fat tree with this k
   */
  public static Flows ofPaper(Topology topology, int k, Reading reading, RandomGenerator random) {
    int[] flowsOfHost = new int[topology.hostCount()];
    long sum = 0;
    for (int host = 0; host < flowsOfHost.length; host++) {
      flowsOfHost[host] = random.nextInt(2_000, 20_001);
      sum += flowsOfHost[host];
    }
    Workload workload = new Workload(topology, k, random);
    if (reading == Reading.PER_HOST) {
      return workload.flows(flowsOfHost, PER_HOST_FLOW_BPS);
    }
    double share = (double) TOTAL_FLOWS * flowsOfHost.length / 1024 / sum;
    for (int host = 0; host < flowsOfHost.length; host++) {
      flowsOfHost[host] = (int) Math.round(flowsOfHost[host] * share);
    }
    return workload.flows(flowsOfHost, TOTAL_BPS / TOTAL_FLOWS);
  }

  /** Returns this many flows from uniformly random hosts. */
  public static Flows even(
      Topology topology, int k, int count, double meanBps, RandomGenerator random) {
    Workload workload = new Workload(topology, k, random);
    Flows.Builder flows = new Flows.Builder(count);
    for (int i = 0; i < count; i++) {
      int source = random.nextInt(topology.hostCount());
      flows.add(source, workload.peer(source), workload.rate(meanBps));
    }
    return flows.build();
  }

  private Flows flows(int[] flowsOfHost, double meanBps) {
    int count = java.util.stream.IntStream.of(flowsOfHost).sum();
    Flows.Builder flows = new Flows.Builder(count);
    for (int host = 0; host < flowsOfHost.length; host++) {
      for (int i = 0; i < flowsOfHost[host]; i++) {
        flows.add(host, peer(host), rate(meanBps));
      }
    }
    return flows.build();
  }

  private long rate(double meanBps) {
    double bps = meanBps * Math.exp(SIGMA * random.nextGaussian() - SIGMA * SIGMA / 2);
    return Math.min(LARGEST_BPS, Math.max(1, Math.round(bps)));
  }

  /** Returns the other end of a host's flow, never the host itself. */
  private int peer(int host) {
    double place = random.nextDouble();
    if (place < IN_RACK && hostsPerRack > 1) {
      return other(host, hostsPerRack, 1);
    } else if (place < IN_RACK + IN_POD && hostsPerPod > hostsPerRack) {
      return other(host, hostsPerPod, hostsPerRack);
    }
    return other(host, topology.hostCount(), hostsPerPod);
  }

  /**
   * Returns a random host in the area of this size around a host, but outside the smaller area
   * around it.
   */
  private int other(int host, int area, int without) {
    int offset = host % area;
    int hole = offset - offset % without;
    int picked = random.nextInt(area - without);
    return host - offset + (picked < hole ? picked : picked + without);
  }

  /** Draws this many flows in random order, each equally likely. */
  public static int[] draw(Flows flows, int count, RandomGenerator random) {
    int[] all = new int[flows.size()];
    for (int i = 0; i < all.length; i++) {
      all[i] = i;
    }
    int wanted = Math.min(count, all.length);
    for (int i = 0; i < wanted; i++) {
      int j = random.nextInt(i, all.length);
      int swapped = all[i];
      all[i] = all[j];
      all[j] = swapped;
    }
    return java.util.Arrays.copyOf(all, wanted);
  }
}
