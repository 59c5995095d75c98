package io.tapline.sdn.forwarding;

import io.tapline.sdn.topology.Host;
import io.tapline.sdn.topology.Link;
import io.tapline.sdn.topology.SwitchPort;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Deque;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;

/**
 * One spanning tree of shortest paths for each host, rooted at the host (PAST: Stephens et al.,
 * CoNEXT 2012): a packet's destination address determines its route, and the trees of all hosts
 * spread over all links. Among the neighbours closer to the root, a switch chooses the one with the
 * highest hash of host, switch and neighbour. If a link fails, only the hosts reached over it are
 * rerouted. The trees depend only on the links and hosts.
 */
public final class Trees {
  /** A switch's port towards a host, and the number of switches after it on the path. */
  public record Hop(int port, int distance) {}

  private record Neighbour(long datapath, int port, SwitchPort entry) {}

  private final Map<Long, List<Neighbour>> neighbours = new HashMap<>();
  private final Map<Long, Map<Long, Hop>> hops = new HashMap<>();
  private final Map<Long, Host> hosts = new HashMap<>();

  private Trees() {}

  /** Returns the trees for these links and hosts. REQUIRES: links are given in both directions. */
  public static Trees of(Collection<Link> links, Collection<Host> hosts) {
    Trees trees = new Trees();
    for (Link link : links) {
      trees
          .neighbours
          .computeIfAbsent(link.from().datapath(), key -> new ArrayList<>())
          .add(new Neighbour(link.to().datapath(), link.from().port(), link.to()));
    }
    Map<Long, Map<Long, Integer>> distances = new HashMap<>();
    for (Host host : hosts) {
      trees.hosts.put(host.mac(), host);
      long root = host.at().datapath();
      trees.grow(host, distances.computeIfAbsent(root, trees::distances));
    }
    return trees;
  }

  private Map<Long, Integer> distances(long root) {
    Map<Long, Integer> distances = new HashMap<>(Map.of(root, 0));
    Deque<Long> queue = new ArrayDeque<>(List.of(root));
    while (!queue.isEmpty()) {
      long datapath = queue.remove();
      for (Neighbour next : neighbours.getOrDefault(datapath, List.of())) {
        if (distances.putIfAbsent(next.datapath(), distances.get(datapath) + 1) == null) {
          queue.add(next.datapath());
        }
      }
    }
    return distances;
  }

  private void grow(Host host, Map<Long, Integer> distances) {
    distances.forEach(
        (datapath, distance) -> {
          int port = distance == 0 ? host.at().port() : parent(host, datapath, distances);
          hops.computeIfAbsent(datapath, key -> new HashMap<>())
              .put(host.mac(), new Hop(port, distance));
        });
  }

  private int parent(Host host, long datapath, Map<Long, Integer> distances) {
    Neighbour best = null;
    long highest = 0;
    for (Neighbour neighbour : neighbours.get(datapath)) {
      if (distances.get(neighbour.datapath()) == distances.get(datapath) - 1) {
        long weight = hash(host.mac(), datapath, neighbour);
        if (best == null || Long.compareUnsigned(weight, highest) > 0) {
          best = neighbour;
          highest = weight;
        }
      }
    }
    return best.port();
  }

  private static long hash(long mac, long datapath, Neighbour neighbour) {
    long mixed = mix(mix(mac) ^ datapath);
    return mix(mix(mixed ^ neighbour.datapath()) ^ neighbour.port());
  }

  /** Computes MurmurHash3's finalizer. */
  private static long mix(long value) {
    long mixed = (value ^ value >>> 33) * 0xff51afd7ed558ccdL;
    mixed = (mixed ^ mixed >>> 33) * 0xc4ceb9fe1a85ec53L;
    return mixed ^ mixed >>> 33;
  }

  /** Returns a switch's next hop towards each host, by the host's Ethernet address. */
  public Map<Long, Hop> hops(long datapath) {
    return hops.getOrDefault(datapath, Map.of());
  }

  /** Returns the far ends of a switch's links, by port. */
  public Map<Integer, SwitchPort> links(long datapath) {
    return neighbours.getOrDefault(datapath, List.of()).stream()
        .collect(Collectors.toMap(Neighbour::port, Neighbour::entry));
  }

  /**
   * Returns the ports through which a packet leaves the switches on its way to a host, in order;
   * empty if there is no path.
   */
  public List<SwitchPort> route(long source, long mac) {
    Host host = hosts.get(mac);
    List<SwitchPort> route = new ArrayList<>();
    long datapath = source;
    while (host != null && hops(datapath).containsKey(mac)) {
      int port = hops(datapath).get(mac).port();
      route.add(new SwitchPort(datapath, port));
      if (datapath == host.at().datapath()) {
        return route;
      }
      datapath = next(datapath, port);
    }
    return List.of();
  }

  private long next(long datapath, int port) {
    return neighbours.get(datapath).stream()
        .filter(neighbour -> neighbour.port() == port)
        .findFirst()
        .orElseThrow()
        .datapath();
  }
}
