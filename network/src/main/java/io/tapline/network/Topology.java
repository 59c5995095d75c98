package io.tapline.network;

import java.util.ArrayList;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;

/**
 * A network as an immutable value: hosts under edge switches, edge switches in groups, and the
 * cheapest path between any two hosts.
 *
 * <pre>
 *          core          core links, weight 4
 *        /      \
 *   group        group   the edge switches that share an aggregation switch; links of weight 2
 *   /   \        /   \
 * edge  edge   edge  edge
 *  |     |      |     |   host links, weight 1
 * hosts hosts  hosts hosts
 * </pre>
 *
 * Hosts, edge switches and groups are numbered from 0. An edge switch may be in several groups.
 */
public final class Topology {
  private final String kind;
  private final List<Host> hosts;
  private final List<String> edges;
  private final int[][] hostsOfEdge;
  private final int[][] edgesOfGroup;
  private final int[][] groupsOfEdge;
  private final Paths paths;
  private final Map<LinkLevel, Long> capacityBps;

  /**
   * Creates a topology.
   *
   * @param kind description for users, for example "fat tree, k=16"
   * @param edges names of the edge switches
   * @param edgesOfGroup the edge switches in each group, which share an aggregation switch
   * @param capacityBps total capacity of the links of each level above the hosts, in one direction
   */
  Topology(
      String kind,
      List<Host> hosts,
      List<String> edges,
      int[][] edgesOfGroup,
      Paths paths,
      Map<LinkLevel, Long> capacityBps) {
    this.kind = kind;
    this.hosts = List.copyOf(hosts);
    this.edges = List.copyOf(edges);
    this.edgesOfGroup = edgesOfGroup;
    this.paths = paths;
    this.hostsOfEdge = inverse(edges.size(), hosts.stream().mapToInt(Host::edge).toArray());
    this.groupsOfEdge = inverse(edges.size(), edgesOfGroup);
    this.capacityBps = new EnumMap<>(capacityBps);
    this.capacityBps.put(LinkLevel.HOST, hosts.stream().mapToLong(Host::linkBps).sum());
  }

  /** Returns, for each owner, the members that refer to it. */
  private static int[][] inverse(int owners, int[] ownerOfMember) {
    List<List<Integer>> members = new ArrayList<>();
    for (int owner = 0; owner < owners; owner++) {
      members.add(new ArrayList<>());
    }
    for (int member = 0; member < ownerOfMember.length; member++) {
      members.get(ownerOfMember[member]).add(member);
    }
    return arrays(members);
  }

  private static int[][] inverse(int owners, int[][] ownersOfMember) {
    List<List<Integer>> members = new ArrayList<>();
    for (int owner = 0; owner < owners; owner++) {
      members.add(new ArrayList<>());
    }
    for (int member = 0; member < ownersOfMember.length; member++) {
      for (int owner : ownersOfMember[member]) {
        members.get(owner).add(member);
      }
    }
    return arrays(members);
  }

  private static int[][] arrays(List<List<Integer>> lists) {
    return lists.stream()
        .map(list -> list.stream().mapToInt(Integer::intValue).toArray())
        .toArray(int[][]::new);
  }

  public String kind() {
    return kind;
  }

  public int hostCount() {
    return hosts.size();
  }

  public Host host(int host) {
    return hosts.get(host);
  }

  public int edgeCount() {
    return edges.size();
  }

  public String edgeName(int edge) {
    return edges.get(edge);
  }

  public int edgeOf(int host) {
    return hosts.get(host).edge();
  }

  /** Returns the hosts under an edge switch, in an array that must not be changed. */
  public int[] hostsOf(int edge) {
    return hostsOfEdge[edge];
  }

  public int groupCount() {
    return edgesOfGroup.length;
  }

  /** Returns the edge switches of a group, in an array that must not be changed. */
  public int[] edgesOf(int group) {
    return edgesOfGroup[group];
  }

  /** Returns the groups of an edge switch, in an array that must not be changed. */
  public int[] groupsOf(int edge) {
    return groupsOfEdge[edge];
  }

  /** Returns the cheapest path between two edge switches. */
  public Path edgePath(int edgeA, int edgeB) {
    return edgeA == edgeB ? Path.NONE : paths.between(edgeA, edgeB);
  }

  /** Returns the cheapest path between two hosts. */
  public Path path(int hostA, int hostB) {
    if (hostA == hostB) {
      return Path.NONE;
    }
    Host a = hosts.get(hostA);
    Host b = hosts.get(hostB);
    return edgePath(a.edge(), b.edge())
        .plus(LinkLevel.HOST, a.linkWeight())
        .plus(LinkLevel.HOST, b.linkWeight());
  }

  /** Returns the weight of the cheapest path between two hosts. */
  public int weight(int hostA, int hostB) {
    if (hostA == hostB) {
      return 0;
    }
    Host a = hosts.get(hostA);
    Host b = hosts.get(hostB);
    int between = a.edge() == b.edge() ? 0 : paths.between(a.edge(), b.edge()).weight();
    return a.linkWeight() + b.linkWeight() + between;
  }

  /** Returns the total capacity of a level's links, in one direction, in bits per second. */
  public long capacityBps(LinkLevel level) {
    return capacityBps.getOrDefault(level, 0L);
  }
}
