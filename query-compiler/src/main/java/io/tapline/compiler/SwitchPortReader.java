package io.tapline.compiler;

import com.fasterxml.jackson.databind.JsonNode;
import io.tapline.network.SwitchPorts;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/**
 * Reads the ports of switches from an inventory's {@code network} section: links between switches
 * and to hosts, and {@code ports}, which maps neighbours to port numbers:
 *
 * <pre>
 * network:
 *   switches: {leaf1: [h1], spine2: []}
 *   links: [[leaf1, spine2], [leaf1, spine2]]
 *   ports:
 *     leaf1: {h1: 1, spine2: [2, 3]}
 * </pre>
 */
final class SwitchPortReader {
  /**
   * Maximum k for which a fat tree's links are listed; beyond that, names in AT are not checked.
   */
  private static final int LARGEST_FAT_TREE = 32;

  private final SwitchPorts.Builder ports = new SwitchPorts.Builder();

  private SwitchPortReader() {}

  /**
   * Reads a network; NetworkSection checks its switches and links.
   *
   * @throws IllegalArgumentException if its {@code ports} are invalid; the message says where
   */
  static SwitchPorts read(JsonNode network) {
    SwitchPortReader reader = new SwitchPortReader();
    if (network.has("fat_tree")) {
      reader.fatTree(network.path("fat_tree").asInt());
    } else {
      reader.graph(network);
    }
    JsonNode numbers = network.path("ports");
    require(
        numbers.isMissingNode() || numbers.isNull() || numbers.isObject(),
        "",
        "must map switches to their ports");
    SwitchPorts links = reader.ports.build();
    for (Map.Entry<String, JsonNode> entry : numbers.properties()) {
      require(
          links.switches().contains(entry.getKey()),
          entry.getKey(),
          "the network has no such switch");
      require(entry.getValue().isObject(), entry.getKey(), "must map neighbours to port numbers");
      for (Map.Entry<String, JsonNode> port : entry.getValue().properties()) {
        reader.number(entry.getKey(), port.getKey(), port.getValue());
      }
    }
    return reader.ports.build();
  }

  private void graph(JsonNode network) {
    network.path("switches").fieldNames().forEachRemaining(ports::addSwitch);
    for (Map.Entry<String, JsonNode> entry : network.path("switches").properties()) {
      entry.getValue().forEach(host -> ports.addLink(entry.getKey(), host.asText()));
    }
    network
        .path("links")
        .forEach(link -> ports.addLink(link.path(0).asText(), link.path(1).asText()));
  }

  private void fatTree(int k) {
    if (k < 2 || k > LARGEST_FAT_TREE || k % 2 != 0) {
      return;
    }
    int half = k / 2;
    for (int pod = 0; pod < k; pod++) {
      for (int i = 0; i < half; i++) {
        ports.addSwitch("edge-%d-%d".formatted(pod, i));
        ports.addSwitch("aggregation-%d-%d".formatted(pod, i));
      }
    }
    for (int core = 0; core < half * half; core++) {
      ports.addSwitch("core-" + core);
    }
    for (int pod = 0; pod < k; pod++) {
      for (int i = 0; i < half; i++) {
        String edge = "edge-%d-%d".formatted(pod, i);
        String aggregation = "aggregation-%d-%d".formatted(pod, i);
        for (int j = 0; j < half; j++) {
          ports.addLink(edge, "h-%d-%d-%d".formatted(pod, i, j));
          ports.addLink(edge, "aggregation-%d-%d".formatted(pod, j));
          ports.addLink(aggregation, "core-%d".formatted(i * half + j));
        }
      }
    }
  }

  private void number(String name, String neighbour, JsonNode value) {
    String where = name + "." + neighbour;
    List<JsonNode> values = new ArrayList<>();
    if (value.isArray()) {
      value.forEach(values::add);
    } else {
      values.add(value);
    }
    List<Integer> numbers = new ArrayList<>();
    for (JsonNode element : values) {
      boolean valid = element.isInt() && element.asInt() > 0;
      require(valid, where, "must be a port number from 1, or a list of them");
      numbers.add(element.asInt());
    }
    try {
      ports.number(name, neighbour, numbers);
    } catch (IllegalArgumentException e) {
      require(false, where, e.getMessage());
    }
  }

  private static void require(boolean valid, String where, String error) {
    if (!valid) {
      String place = where.isEmpty() ? "" : "." + where;
      throw new IllegalArgumentException("inventory, network.ports%s: %s".formatted(place, error));
    }
  }
}
