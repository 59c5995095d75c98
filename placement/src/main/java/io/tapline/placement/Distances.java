package io.tapline.placement;

import io.tapline.network.Topology;
import java.util.Arrays;

/** Precomputed weights of the cheapest paths between all hosts of a small topology. */
final class Distances {
  private final int[][] weight;
  private final int[] levels;

  Distances(Topology topology) {
    int hosts = topology.hostCount();
    weight = new int[hosts][hosts];
    for (int a = 0; a < hosts; a++) {
      for (int b = 0; b < hosts; b++) {
        weight[a][b] = topology.weight(a, b);
      }
    }
    levels = Arrays.stream(weight).flatMapToInt(Arrays::stream).distinct().sorted().toArray();
  }

  int between(int hostA, int hostB) {
    return weight[hostA][hostB];
  }

  /** Returns the distinct weights, ascending. Do not change the array. */
  int[] levels() {
    return levels;
  }
}
