package io.tapline.network;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;

/**
 * A topology of two levels: every leaf is an edge switch with a link to every spine, and all leaves
 * form one group.
 */
public final class LeafSpine {
  private LeafSpine() {}

  /** Returns a leaf-spine network. */
  public static Topology of(int leaves, int spines, int hostsPerLeaf, HostMaker maker) {
    if (leaves < 1 || spines < 1 || hostsPerLeaf < 1) {
      throw new IllegalArgumentException("a leaf-spine network needs leaves, spines and hosts");
    }
    List<Host> hosts = new ArrayList<>();
    List<String> edges = new ArrayList<>();
    for (int leaf = 0; leaf < leaves; leaf++) {
      edges.add("leaf-" + leaf);
      for (int h = 0; h < hostsPerLeaf; h++) {
        hosts.add(maker.make("h-%d-%d".formatted(leaf, h), leaf));
      }
    }
    int[][] groups = {IntStream.range(0, leaves).toArray()};
    Path across = new Path(0, 2, 0, 2 * LinkLevel.AGGREGATION.weight);
    Map<LinkLevel, Long> capacity =
        Map.of(LinkLevel.AGGREGATION, (long) leaves * spines * HostMaker.TEN_GIGABIT);
    String kind = "leaf-spine, %d leaves, %d spines".formatted(leaves, spines);
    return new Topology(kind, hosts, edges, groups, (a, b) -> across, capacity);
  }
}
