package io.tapline.network;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/**
 * The three-level fat tree of Al-Fares et al. (SIGCOMM 2008): k pods of k/2 edge and k/2
 * aggregation switches, k/2 hosts under each edge switch, and (k/2)² core switches.
 */
public final class FatTree {
  private FatTree() {}

  /**
   * Returns a fat tree.
   *
   * @param k number of ports per switch; even, at least 2
   */
  public static Topology of(int k, HostMaker maker) {
    if (k < 2 || k % 2 != 0) {
      throw new IllegalArgumentException("a fat tree needs an even k of at least 2, not " + k);
    }
    int half = k / 2;
    List<Host> hosts = new ArrayList<>();
    List<String> edges = new ArrayList<>();
    int[][] pods = new int[k][half];
    for (int pod = 0; pod < k; pod++) {
      for (int i = 0; i < half; i++) {
        int edge = pod * half + i;
        pods[pod][i] = edge;
        edges.add("edge-%d-%d".formatted(pod, i));
        for (int h = 0; h < half; h++) {
          hosts.add(maker.make("h-%d-%d-%d".formatted(pod, i, h), edge));
        }
      }
    }
    long links = (long) k * half * half;
    Map<LinkLevel, Long> capacity =
        Map.of(
            LinkLevel.AGGREGATION, links * HostMaker.TEN_GIGABIT,
            LinkLevel.CORE, links * HostMaker.TEN_GIGABIT);
    return new Topology("fat tree, k=" + k, hosts, edges, pods, paths(half), capacity);
  }

  private static Paths paths(int edgesPerPod) {
    Path inPod = up(LinkLevel.AGGREGATION, Path.NONE);
    Path acrossPods = up(LinkLevel.CORE, inPod);
    return (a, b) -> a / edgesPerPod == b / edgesPerPod ? inPod : acrossPods;
  }

  private static Path up(LinkLevel level, Path path) {
    return path.plus(level, level.weight).plus(level, level.weight);
  }
}
