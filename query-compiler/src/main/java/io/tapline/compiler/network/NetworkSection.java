package io.tapline.compiler.network;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.dataformat.yaml.YAMLMapper;
import io.tapline.compiler.Inventory;
import io.tapline.network.FatTree;
import io.tapline.network.Graph;
import io.tapline.network.HostMaker;
import io.tapline.network.IpPrefix;
import io.tapline.network.Network;
import io.tapline.network.Rates;
import io.tapline.network.Topology;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;

/**
 * Reads the inventory's {@code network} section:
 *
 * <pre>
 * network:
 *   cpus: 16
 *   memory_gib: 64
 *   fat_tree: 4
 * </pre>
 *
 * The hosts of a fat tree are named h-POD-EDGE-NUMBER. Any other network lists its switches, each
 * with its hosts, and the links between switches, each optionally with a weight as third element:
 *
 * <pre>
 * network:
 *   switches: {leaf1: [h1, h2], leaf2: [h3], spine: []}
 *   links: [[leaf1, spine], [leaf2, spine]]
 * </pre>
 *
 * {@code rates_mbps: {h1: 250}} optionally gives the latest measured traffic of hosts, the sum of
 * both directions.
 */
public final class NetworkSection {
  private static final int CPUS = 16;
  private static final int MEMORY_GIB = 64;

  private NetworkSection() {}

  /**
   * Reads an inventory file's network; empty if it has none. Hosts that the inventory does not name
   * get no address.
   *
   * @throws IllegalArgumentException if it is invalid; the message says why
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
      for (Map.Entry<String, JsonNode> entry : section.path("switches").properties()) {
        entry.getValue().forEach(host -> graph.addHost(host.asText(), entry.getKey(), hosts));
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

  private static Rates rates(JsonNode section, Topology topology) {
    Set<String> hosts = new HashSet<>();
    for (int host = 0; host < topology.hostCount(); host++) {
      hosts.add(topology.host(host).name());
    }
    Map<String, Long> bpsOfHost = new HashMap<>();
    for (Map.Entry<String, JsonNode> entry : section.path("rates_mbps").properties()) {
      String host = entry.getKey();
      JsonNode rate = entry.getValue();
      require(hosts.contains(host), "rates_mbps names %s, which is not one of its hosts", host);
      require(
          rate.isNumber() && rate.asDouble() >= 0,
          "rates_mbps of %s is '%s', not a number of Mbit/s",
          host,
          rate.asText());
      bpsOfHost.put(host, Math.round(rate.asDouble() * 1e6));
    }
    return Rates.of(bpsOfHost);
  }

  private static void require(boolean valid, String error, Object... arguments) {
    if (!valid) {
      throw new IllegalArgumentException("inventory, network: " + error.formatted(arguments));
    }
  }
}
