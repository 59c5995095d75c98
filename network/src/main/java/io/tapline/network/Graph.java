package io.tapline.network;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.EnumMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.PriorityQueue;
import java.util.TreeMap;
import java.util.TreeSet;

/**
 * Collects the switches, links and hosts of any connected network, then {@link #build}s its
 * topology. Switches with hosts are the edge switches; edge switches with links to the same
 * non-edge switch form a group. Links at edge switches have level AGGREGATION, others level CORE.
 */
public final class Graph {
  private record Link(int a, int b, long capacityBps, int weight) {}

  private final Map<String, Integer> switches = new LinkedHashMap<>();
  private final List<Link> links = new ArrayList<>();
  private final List<Host> hosts = new ArrayList<>();

  /** Adds a switch. */
  public Graph addSwitch(String name) {
    require(switches.putIfAbsent(name, switches.size()) == null, "there are two switches " + name);
    return this;
  }

  /**
   * Adds a link between two switches.
   *
   * @param weight weight of the link; 0 for its level's weight
   */
  public Graph addLink(String source, String target, long capacityBps, int weight) {
    require(
        weight >= 0 && capacityBps > 0,
        "a link needs a positive capacity and a non-negative weight");
    links.add(new Link(number(source), number(target), capacityBps, weight));
    return this;
  }

  /** Adds a host under a switch. */
  public Graph addHost(String name, String edge, HostMaker maker) {
    hosts.add(maker.make(name, number(edge)));
    return this;
  }

  private int number(String name) {
    Integer number = switches.get(name);
    require(number != null, "there is no switch " + name);
    return number;
  }

  /**
   * Returns the topology.
   *
   * @throws IllegalArgumentException if it has no hosts or is not connected
   */
  public Topology build() {
    require(!hosts.isEmpty(), "the network has no hosts");
    Map<Integer, Integer> edgeOfSwitch = new TreeMap<>();
    hosts.forEach(host -> edgeOfSwitch.put(host.edge(), 0));
    int next = 0;
    for (Map.Entry<Integer, Integer> entry : edgeOfSwitch.entrySet()) {
      entry.setValue(next++);
    }
    List<String> names = List.copyOf(switches.keySet());
    List<String> edges = edgeOfSwitch.keySet().stream().map(names::get).toList();
    List<Host> renumbered =
        hosts.stream()
            .map(
                h ->
                    new Host(
                        h.name(),
                        edgeOfSwitch.get(h.edge()),
                        h.linkWeight(),
                        h.linkBps(),
                        h.total(),
                        h.used()))
            .toList();
    Path[][] paths = allPaths(List.copyOf(edgeOfSwitch.keySet()), names);
    String kind = "graph, %d switches".formatted(names.size());
    return new Topology(
        kind,
        renumbered,
        edges,
        groups(edgeOfSwitch),
        (a, b) -> paths[a][b],
        capacity(edgeOfSwitch));
  }

  private LinkLevel level(Link link, java.util.Set<Integer> edgeSwitches) {
    boolean atEdge = edgeSwitches.contains(link.a()) || edgeSwitches.contains(link.b());
    return atEdge ? LinkLevel.AGGREGATION : LinkLevel.CORE;
  }

  private Map<LinkLevel, Long> capacity(Map<Integer, Integer> edgeOfSwitch) {
    Map<LinkLevel, Long> capacity = new EnumMap<>(LinkLevel.class);
    for (Link link : links) {
      capacity.merge(level(link, edgeOfSwitch.keySet()), link.capacityBps(), Long::sum);
    }
    return capacity;
  }

  /**
   * Returns the distinct sets of edge switches with links to the same non-edge switch. Each edge
   * switch without such a link forms a separate group.
   */
  private int[][] groups(Map<Integer, Integer> edgeOfSwitch) {
    Map<Integer, TreeSet<Integer>> below = new TreeMap<>();
    for (Link link : links) {
      below(below, edgeOfSwitch, link.a(), link.b());
      below(below, edgeOfSwitch, link.b(), link.a());
    }
    java.util.Set<TreeSet<Integer>> groups = new java.util.LinkedHashSet<>(below.values());
    for (int edge : edgeOfSwitch.values()) {
      if (groups.stream().noneMatch(group -> group.contains(edge))) {
        groups.add(new TreeSet<>(List.of(edge)));
      }
    }
    return groups.stream()
        .map(group -> group.stream().mapToInt(Integer::intValue).toArray())
        .toArray(int[][]::new);
  }

  private static void below(
      Map<Integer, TreeSet<Integer>> below,
      Map<Integer, Integer> edgeOfSwitch,
      int upper,
      int lower) {
    if (!edgeOfSwitch.containsKey(upper) && edgeOfSwitch.containsKey(lower)) {
      below.computeIfAbsent(upper, key -> new TreeSet<>()).add(edgeOfSwitch.get(lower));
    }
  }

  private Path[][] allPaths(List<Integer> edgeSwitches, List<String> names) {
    List<List<Link>> adjacent = new ArrayList<>();
    names.forEach(name -> adjacent.add(new ArrayList<>()));
    for (Link link : links) {
      adjacent.get(link.a()).add(link);
      adjacent.get(link.b()).add(new Link(link.b(), link.a(), link.capacityBps(), link.weight()));
    }
    java.util.Set<Integer> edgeSet = new TreeSet<>(edgeSwitches);
    Path[][] all = new Path[edgeSwitches.size()][edgeSwitches.size()];
    for (int a = 0; a < edgeSwitches.size(); a++) {
      Path[] paths = pathsFrom(edgeSwitches.get(a), adjacent, edgeSet);
      for (int b = 0; b < edgeSwitches.size(); b++) {
        all[a][b] = paths[edgeSwitches.get(b)];
        String pair = names.get(edgeSwitches.get(a)) + " and " + names.get(edgeSwitches.get(b));
        require(all[a][b] != null, "there is no path between " + pair);
      }
    }
    return all;
  }

  /** Finds paths of least weight, then fewest hops, by Dijkstra's algorithm. */
  private Path[] pathsFrom(
      int source, List<List<Link>> adjacent, java.util.Set<Integer> edgeSwitches) {
    record Visit(int node, Path path) {}
    Path[] best = new Path[adjacent.size()];
    boolean[] done = new boolean[best.length];
    PriorityQueue<Visit> queue =
        new PriorityQueue<>(
            (x, y) ->
                x.path().weight() != y.path().weight()
                    ? Integer.compare(x.path().weight(), y.path().weight())
                    : Integer.compare(x.path().hops(), y.path().hops()));
    queue.add(new Visit(source, Path.NONE));
    while (!queue.isEmpty()) {
      Visit reached = queue.poll();
      if (done[reached.node()]) {
        continue;
      }
      done[reached.node()] = true;
      best[reached.node()] = reached.path();
      for (Link link : adjacent.get(reached.node())) {
        LinkLevel level = level(link, edgeSwitches);
        int weight = link.weight() == 0 ? level.weight : link.weight();
        if (!done[link.b()]) {
          queue.add(new Visit(link.b(), reached.path().plus(level, weight)));
        }
      }
    }
    return Arrays.copyOf(best, best.length);
  }

  private static void require(boolean valid, String error) {
    if (!valid) {
      throw new IllegalArgumentException(error);
    }
  }
}
