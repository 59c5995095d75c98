package io.tapline.placement;

import io.tapline.network.Topology;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.PriorityQueue;
import java.util.stream.IntStream;

/**
 * Decides which sources share an engine, for any number of engines. Initially each source has an
 * engine on its own host, which costs no traffic. Each step then merges the two clusters whose
 * merge adds the least traffic, until no two fit into one engine. Each step saves one engine, so
 * one run yields the whole trade-off between traffic and the number of engines.
 */
final class Clustering {
  /**
   * Number of the smallest clusters that are candidates for a merge with a cluster. Clusters in the
   * same groups of edge switches are candidates, too. If there are few clusters, all are.
   */
  private static final int FAR_CANDIDATES = 24;

  private static final int MEDIAN_CANDIDATES = 64;

  /** Sources that share an engine at the center. */
  static final class Cluster {
    int[] members;
    long bps;
    int centre;
    long cost;

    Cluster(int[] members, long bps, int centre, long cost) {
      this.members = members;
      this.bps = bps;
      this.centre = centre;
      this.cost = cost;
    }
  }

  private record Join(long added, int a, int b) {}

  private final Topology topology;
  private final Engines.Sources sources;
  private final long capacity;
  private final List<Cluster> clusters = new ArrayList<>();
  private final List<Join> joins = new ArrayList<>();
  private final List<Long> traffic = new ArrayList<>();

  private Clustering(Topology topology, Engines.Sources sources, long capacity) {
    this.topology = topology;
    this.sources = sources;
    this.capacity = capacity;
  }

  static Clustering of(Topology topology, Engines.Sources sources, long capacity) {
    Clustering clustering = new Clustering(topology, sources, capacity);
    clustering.run();
    return clustering;
  }

  /** Returns the smallest number of clusters reached. */
  int minCount() {
    return sources.host().length - joins.size();
  }

  int maxCount() {
    return sources.host().length;
  }

  /** Returns the weighted traffic with this many clusters. */
  long traffic(int count) {
    return traffic.get(maxCount() - count);
  }

  private void run() {
    for (int source = 0; source < maxCount(); source++) {
      clusters.add(
          new Cluster(new int[] {source}, sources.bps()[source], sources.host()[source], 0));
    }
    traffic.add(0L);
    boolean[] alive = new boolean[2 * maxCount()];
    Arrays.fill(alive, 0, maxCount(), true);
    PriorityQueue<Join> queue =
        new PriorityQueue<>(
            Comparator.comparingLong(Join::added)
                .thenComparingInt(Join::a)
                .thenComparingInt(Join::b));
    List<List<Integer>> ofGroup = new ArrayList<>();
    IntStream.range(0, topology.groupCount()).forEach(group -> ofGroup.add(new ArrayList<>()));
    for (int i = 0; i < maxCount(); i++) {
      candidates(i, i, ofGroup, alive, queue);
    }
    for (Join join = queue.poll(); join != null; join = queue.poll()) {
      if (alive[join.a()] && alive[join.b()]) {
        alive[join.a()] = false;
        alive[join.b()] = false;
        clusters.add(joined(clusters.get(join.a()), clusters.get(join.b())));
        joins.add(join);
        traffic.add(traffic.get(traffic.size() - 1) + join.added());
        int number = clusters.size() - 1;
        alive[number] = true;
        candidates(number, number, ofGroup, alive, queue);
      }
    }
  }

  /** Queues possible merges of a cluster with those created before it. */
  private void candidates(
      int number,
      int end,
      List<List<Integer>> ofGroup,
      boolean[] alive,
      PriorityQueue<Join> queue) {
    Cluster cluster = clusters.get(number);
    int edge = topology.edgeOf(cluster.centre);
    for (int group : topology.groupsOf(edge)) {
      List<Integer> near = ofGroup.get(group);
      near.removeIf(candidate -> !alive[candidate]);
      near.forEach(candidate -> offer(candidate, number, queue));
      near.add(number);
    }
    smallest(end, alive).forEach(candidate -> offer(candidate, number, queue));
  }

  private List<Integer> smallest(int end, boolean[] alive) {
    if (end <= 2 * MEDIAN_CANDIDATES) {
      return IntStream.range(0, end).filter(i -> alive[i]).boxed().toList();
    }
    PriorityQueue<Integer> smallest =
        new PriorityQueue<>((x, y) -> Long.compare(clusters.get(y).bps, clusters.get(x).bps));
    for (int i = 0; i < end; i++) {
      if (alive[i]) {
        smallest.add(i);
        if (smallest.size() > FAR_CANDIDATES) {
          smallest.poll();
        }
      }
    }
    return List.copyOf(smallest);
  }

  private void offer(int a, int b, PriorityQueue<Join> queue) {
    Cluster x = clusters.get(a);
    Cluster y = clusters.get(b);
    if (x.bps + y.bps <= capacity) {
      long atX = x.cost + costAt(y.members, x.centre);
      long atY = y.cost + costAt(x.members, y.centre);
      queue.add(new Join(Math.min(atX, atY) - x.cost - y.cost, a, b));
    }
  }

  private Cluster joined(Cluster x, Cluster y) {
    long atX = x.cost + costAt(y.members, x.centre);
    long atY = y.cost + costAt(x.members, y.centre);
    int[] members = Arrays.copyOf(x.members, x.members.length + y.members.length);
    System.arraycopy(y.members, 0, members, x.members.length, y.members.length);
    int centre = atX <= atY ? x.centre : y.centre;
    return new Cluster(members, x.bps + y.bps, centre, Math.min(atX, atY));
  }

  private long costAt(int[] members, int host) {
    long cost = 0;
    for (int member : members) {
      cost += sources.bps()[member] * topology.weight(sources.host()[member], host);
    }
    return cost;
  }

  /** Returns {@code count} clusters, refined by moving individual sources and centers. */
  List<Cluster> clusters(int count) {
    boolean[] joined = new boolean[clusters.size()];
    int last = maxCount() + maxCount() - count;
    for (int i = 0; i < maxCount() - count; i++) {
      joined[joins.get(i).a()] = true;
      joined[joins.get(i).b()] = true;
    }
    List<Cluster> chosenClusters = new ArrayList<>();
    for (int i = 0; i < last; i++) {
      if (!joined[i]) {
        Cluster c = clusters.get(i);
        chosenClusters.add(new Cluster(c.members.clone(), c.bps, c.centre, c.cost));
      }
    }
    improve(chosenClusters);
    return chosenClusters;
  }

  private void improve(List<Cluster> chosenClusters) {
    int[] clusterOf = new int[maxCount()];
    for (int round = 0; round < 8; round++) {
      for (int c = 0; c < chosenClusters.size(); c++) {
        recentre(chosenClusters.get(c));
        for (int member : chosenClusters.get(c).members) {
          clusterOf[member] = c;
        }
      }
      boolean wasMoved =
          move(chosenClusters, clusterOf) | (maxCount() <= 512 && swap(chosenClusters, clusterOf));
      if (!wasMoved) {
        return;
      }
      regroup(chosenClusters, clusterOf);
    }
    chosenClusters.forEach(this::recentre);
  }

  /** Moves single sources to cheaper clusters; never empties a cluster. */
  private boolean move(List<Cluster> chosenClusters, int[] clusterOf) {
    int[] left = new int[chosenClusters.size()];
    Arrays.stream(clusterOf).forEach(c -> left[c]++);
    boolean wasMoved = false;
    for (int source = 0; source < clusterOf.length; source++) {
      int best = clusterOf[source];
      int host = sources.host()[source];
      int weight = topology.weight(host, chosenClusters.get(best).centre);
      for (int c = 0; c < chosenClusters.size() && weight > 0 && left[clusterOf[source]] > 1; c++) {
        Cluster otherCluster = chosenClusters.get(c);
        boolean fits = otherCluster.bps + sources.bps()[source] <= capacity;
        if (fits && topology.weight(host, otherCluster.centre) < weight) {
          best = c;
          weight = topology.weight(host, otherCluster.centre);
        }
      }
      if (best != clusterOf[source]) {
        chosenClusters.get(clusterOf[source]).bps -= sources.bps()[source];
        chosenClusters.get(best).bps += sources.bps()[source];
        left[clusterOf[source]]--;
        left[best]++;
        clusterOf[source] = best;
        wasMoved = true;
      }
    }
    return wasMoved;
  }

  /** Swaps pairs of sources if that is cheaper. */
  private boolean swap(List<Cluster> chosenClusters, int[] clusterOf) {
    boolean wasMoved = false;
    for (int x = 0; x < clusterOf.length; x++) {
      for (int y = 0; y < x; y++) {
        Cluster a = chosenClusters.get(clusterOf[x]);
        Cluster b = chosenClusters.get(clusterOf[y]);
        long difference = sources.bps()[y] - sources.bps()[x];
        boolean fits = a.bps + difference <= capacity && b.bps - difference <= capacity;
        if (clusterOf[x] != clusterOf[y] && fits && gain(x, y, a, b) > 0) {
          a.bps += difference;
          b.bps -= difference;
          int swapped = clusterOf[x];
          clusterOf[x] = clusterOf[y];
          clusterOf[y] = swapped;
          wasMoved = true;
        }
      }
    }
    return wasMoved;
  }

  private long gain(int x, int y, Cluster a, Cluster b) {
    long bpsX = sources.bps()[x];
    long bpsY = sources.bps()[y];
    int hostX = sources.host()[x];
    int hostY = sources.host()[y];
    return bpsX * (topology.weight(hostX, a.centre) - topology.weight(hostX, b.centre))
        + bpsY * (topology.weight(hostY, b.centre) - topology.weight(hostY, a.centre));
  }

  private static void regroup(List<Cluster> chosenClusters, int[] clusterOf) {
    for (int c = 0; c < chosenClusters.size(); c++) {
      int number = c;
      chosenClusters.get(c).members =
          IntStream.range(0, clusterOf.length).filter(s -> clusterOf[s] == number).toArray();
    }
  }

  /**
   * Moves the center to the member's host where the cluster costs least. If there are many members,
   * considers only the heaviest.
   */
  private void recentre(Cluster cluster) {
    long best = costAt(cluster.members, cluster.centre);
    int[] heaviest =
        cluster.members.length <= MEDIAN_CANDIDATES
            ? cluster.members
            : IntStream.of(cluster.members)
                .boxed()
                .sorted(Comparator.comparingLong(m -> -sources.bps()[m]))
                .limit(MEDIAN_CANDIDATES)
                .mapToInt(Integer::intValue)
                .toArray();
    for (int member : heaviest) {
      long cost = costAt(cluster.members, sources.host()[member]);
      if (cost < best) {
        best = cost;
        cluster.centre = sources.host()[member];
      }
    }
    cluster.cost = best;
  }
}
