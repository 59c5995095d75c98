package io.tapline.placement;

import io.tapline.network.Resources;
import io.tapline.network.Topology;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.random.RandomGenerator;

/**
 * Algorithm 2 of NetAlytics (4.1): the aggregation switch above the most unread sources gets an
 * engine "nearby", which reads these sources until one does not fit. This repeats until all sources
 * are read. "Nearby" is interpreted as the least loaded host in the first source's rack, else under
 * that switch, else in the network.
 */
final class GreedyEngines implements EnginePlacer {
  @Override
  public void place(Engines engines, Topology topology, HostUse use, RandomGenerator random) {
    int[] hosts = engines.sources.host();
    boolean[] done = new boolean[hosts.length];
    int[] waiting = new int[topology.groupCount()];
    List<Deque<Integer>> queues = queues(topology, hosts, waiting);
    for (int left = hosts.length; left > 0; ) {
      int group = largest(waiting);
      Deque<Integer> queue = queues.get(group);
      dropDone(queue, done);
      int engine = engines.start(hostFor(engines, topology, use, group, hosts[queue.peek()]));
      while (!queue.isEmpty() && engines.accepts(engine, queue.peek())) {
        int source = queue.peek();
        if (!engines.read(engine, source)) {
          break;
        }
        done[source] = true;
        left--;
        for (int groupNumber : topology.groupsOf(topology.edgeOf(hosts[source]))) {
          waiting[groupNumber]--;
        }
        dropDone(queue, done);
      }
    }
  }

  private static List<Deque<Integer>> queues(Topology topology, int[] hosts, int[] waiting) {
    List<Deque<Integer>> queues = new ArrayList<>();
    for (int group = 0; group < waiting.length; group++) {
      queues.add(new ArrayDeque<>());
    }
    for (int source = 0; source < hosts.length; source++) {
      for (int group : topology.groupsOf(topology.edgeOf(hosts[source]))) {
        queues.get(group).add(source);
        waiting[group]++;
      }
    }
    return queues;
  }

  private static void dropDone(Deque<Integer> queue, boolean[] done) {
    while (!queue.isEmpty() && done[queue.peek()]) {
      queue.poll();
    }
  }

  private static int largest(int[] waiting) {
    int best = 0;
    for (int group = 1; group < waiting.length; group++) {
      best = waiting[group] > waiting[best] ? group : best;
    }
    return best;
  }

  private static int hostFor(
      Engines engines, Topology topology, HostUse use, int group, int first) {
    Resources need = engines.kind.need();
    int host = use.leastLoaded(topology.edgeOf(first), need);
    if (host < 0) {
      host = use.leastLoadedOfGroup(group, need);
    }
    return host >= 0 ? host : use.leastLoadedOfAll(need);
  }
}
