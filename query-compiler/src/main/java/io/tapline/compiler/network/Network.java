package io.tapline.compiler.network;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.dataformat.yaml.YAMLMapper;
import io.tapline.compiler.Inventory;
import io.tapline.network.FatTree;
import io.tapline.network.Graph;
import io.tapline.network.HostMaker;
import io.tapline.network.IpPrefix;
import io.tapline.network.Topology;
import io.tapline.network.rules.MirrorPlanner.EdgeSwitch;
import io.tapline.placement.Flows;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.stream.IntStream;

/**
 * A topology with the addresses of its hosts, from the inventory's section {@code network}:
 *
 * <pre>
 * network:
 *   cpus: 16
 *   memory_gib: 64
 *   fat_tree: 4
 * </pre>
 *
 * whose hosts are called h-POD-EDGE-NUMBER; or switch by switch, with hosts by their names:
 *
 * <pre>
 * network:
 *   switches: {leaf1: [h1, h2], leaf2: [h3], spine: []}
 *   links: [[leaf1, spine], [leaf2, spine]]
 * </pre>
 *
 * Beside them may stand what hosts were last seen to send and receive, {@code rates_mbps: {h1:
 * 250}}.
 *
 * @param addresses addresses by host number of the topology; none if the inventory has no such host
 */
public record Network(Topology topology, List<List<IpPrefix>> addresses, Rates rates) {
  private static final int CPUS = 16;
  private static final int MEMORY_GIB = 64;

  public Network {
    addresses = addresses.stream().map(List::copyOf).toList();
  }

  /**
   * Reads an inventory file's network; empty if it has none.
   *
   * @throws IllegalArgumentException if it is invalid; the message says what and where
   */
  public static Optional<Network> fromYaml(String yaml, Inventory inventory) {
    JsonNode section;
    try {
      section = new YAMLMapper().readTree(yaml).path("network");
    } catch (JsonProcessingException e) {
      throw new IllegalArgumentException("inventory: not YAML", e);
    }
    if (section.isMissingNode() || section.isNull()) {
      return Optional.empty();
    }
    Topology topology = topology(section);
    List<List<IpPrefix>> addresses = new ArrayList<>();
    for (int host = 0; host < topology.hostCount(); host++) {
      String name = topology.host(host).name();
      addresses.add(inventory.addresses(name).stream().map(IpPrefix::of).toList());
    }
    return Optional.of(new Network(topology, addresses, rates(section, topology)));
  }

  private static Rates rates(JsonNode section, Topology topology) {
    Set<String> hosts = new HashSet<>();
    for (int host = 0; host < topology.hostCount(); host++) {
      hosts.add(topology.host(host).name());
    }
    JsonNode rates = section.path("rates_mbps");
    for (String name : (Iterable<String>) rates::fieldNames) {
      if (!hosts.contains(name)) {
        throw new IllegalArgumentException(
            "inventory, network: rates_mbps names %s, which is no host of it".formatted(name));
      }
    }
    try {
      return Rates.ofMegabits(rates);
    } catch (IllegalArgumentException e) {
      throw new IllegalArgumentException("inventory, network: " + e.getMessage(), e);
    }
  }

  /** Returns a host's number in the topology. REQUIRES: there is one of this name. */
  int number(String host) {
    return IntStream.range(0, topology.hostCount())
        .filter(number -> topology.host(number).name().equals(host))
        .findFirst()
        .orElseThrow();
  }

  /** Returns the name of the host that has this name or address. */
  public Optional<String> hostOf(String nameOrAddress) {
    Optional<IpPrefix> address = IpPrefix.parse(nameOrAddress);
    for (int host = 0; host < topology.hostCount(); host++) {
      String name = topology.host(host).name();
      List<IpPrefix> own = addresses.get(host);
      if (name.equals(nameOrAddress)
          || address.filter(a -> own.stream().anyMatch(a::overlaps)).isPresent()) {
        return Optional.of(name);
      }
    }
    return Optional.empty();
  }

  /** Returns this network with measured rates. */
  public Network with(Rates counted) {
    return new Network(topology, addresses, counted);
  }

  /** Returns true if the traffic of a host was measured. */
  boolean isCounted(int host) {
    return rates.bps(topology.host(host).name()).isPresent();
  }

  /**
   * Returns flows from hosts to themselves, which stand for what is monitored at their edge
   * switches.
   */
  Flows flows(int[] hosts) {
    Flows.Builder flows = new Flows.Builder(hosts.length);
    for (int host : hosts) {
      flows.add(host, host, rates.bps(topology.host(host).name()).orElse(Rates.DEFAULT_BPS));
    }
    return flows.build();
  }

  private static Topology topology(JsonNode section) {
    HostMaker hosts =
        HostMaker.uniform(
            section.path("cpus").asInt(CPUS), section.path("memory_gib").asInt(MEMORY_GIB));
    try {
      if (section.has("fat_tree")) {
        return FatTree.of(section.get("fat_tree").asInt(), hosts);
      }
      Graph graph = new Graph();
      section.path("switches").fieldNames().forEachRemaining(graph::addSwitch);
      for (Map.Entry<String, JsonNode> each : section.path("switches").properties()) {
        each.getValue().forEach(host -> graph.addHost(host.asText(), each.getKey(), hosts));
      }
      for (JsonNode link : section.path("links")) {
        graph.addLink(
            link.path(0).asText(),
            link.path(1).asText(),
            HostMaker.TEN_GIGABIT,
            link.path(2).asInt(0));
      }
      return graph.build();
    } catch (IllegalArgumentException e) {
      throw new IllegalArgumentException("inventory, network: " + e.getMessage(), e);
    }
  }

  /** Returns the edge switches with the addresses below them. */
  List<EdgeSwitch> edges() {
    List<List<IpPrefix>> below = new ArrayList<>();
    for (int edge = 0; edge < topology.edgeCount(); edge++) {
      below.add(new ArrayList<>());
    }
    for (int host = 0; host < topology.hostCount(); host++) {
      below.get(topology.edgeOf(host)).addAll(addresses.get(host));
    }
    List<EdgeSwitch> edges = new ArrayList<>();
    for (int edge = 0; edge < below.size(); edge++) {
      edges.add(new EdgeSwitch(topology.edgeName(edge), below.get(edge)));
    }
    return edges;
  }
}
