package io.tapline.placement;

import io.tapline.network.FatTree;
import io.tapline.network.Graph;
import io.tapline.network.HostMaker;
import io.tapline.network.LeafSpine;
import io.tapline.network.Topology;
import java.util.Random;
import java.util.random.RandomGenerator;

/** Generates random problems, reproducible by their seeds. */
final class Problems {
  private Problems() {}

  static Problem random(long seed) {
    Random random = new Random(seed);
    Topology topology = topology(random);
    int count = 1 + random.nextInt(400);
    double mean = random.nextBoolean() ? 20e9 / count : 2e6;
    return new Problem(topology, flows(topology, count, mean, random), Sizes.PAPER);
  }

  static Topology topology(RandomGenerator random) {
    HostMaker hosts = random.nextBoolean() ? HostMaker.ofPaper(random) : HostMaker.uniform(24, 128);
    return switch (random.nextInt(3)) {
      case 0 -> FatTree.of(4 + 2 * random.nextInt(2), hosts);
      case 1 -> LeafSpine.of(2 + random.nextInt(5), 2, 4 + random.nextInt(4), hosts);
      default -> ring(3 + random.nextInt(5), hosts);
    };
  }

  /** Returns edge switches in a ring, with four hosts each. */
  static Topology ring(int edges, HostMaker hosts) {
    Graph graph = new Graph();
    for (int edge = 0; edge < edges; edge++) {
      graph.addSwitch("s" + edge);
    }
    for (int edge = 0; edge < edges; edge++) {
      graph.addLink("s" + edge, "s" + (edge + 1) % edges, HostMaker.TEN_GIGABIT, 0);
      for (int h = 0; h < 4; h++) {
        graph.addHost("h%d-%d".formatted(edge, h), "s" + edge, hosts);
      }
    }
    return graph.build();
  }

  static Flows flows(Topology topology, int count, double meanBps, RandomGenerator random) {
    Flows.Builder flows = new Flows.Builder(count);
    for (int i = 0; i < count; i++) {
      long rate = (long) Math.min(1e9, -meanBps * Math.log(1 - random.nextDouble()));
      flows.add(random.nextInt(topology.hostCount()), random.nextInt(topology.hostCount()), rate);
    }
    return flows.build();
  }
}
