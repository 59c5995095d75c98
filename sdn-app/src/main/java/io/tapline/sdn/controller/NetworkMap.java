package io.tapline.sdn.controller;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.dataformat.yaml.YAMLMapper;
import io.tapline.network.IpPrefix;
import io.tapline.network.Network;
import io.tapline.sdn.mirror.CopyFormat;
import io.tapline.sdn.mirror.MirrorPort;
import java.io.IOException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/**
 * The parts of an inventory's network other than its topology:
 *
 * <pre>
 * network:
 *   fat_tree: 4
 *   openflow:
 *     datapaths: {edge-0-0: 0x10000, edge-0-1: 0x10001}
 *     monitor_ports:
 *       edge-0-0: {h-0-0-1: 4, h-3-1-0: {port: 9, tunnel: 5001}, collector: {port: 5, queue: 1}}
 *     copies: unmarked
 *     link_mbit: 50
 * </pre>
 *
 * A switch needs an entry in {@code monitor_ports} for a monitor's host only if that host is not
 * directly behind one of its ports, never sends packets, or has a queue for preferred copies.
 *
 * @param datapaths datapath IDs by switch; if there are any, the controller rejects other switches
 * @param addresses IPv4 addresses by host
 * @param switchOfAddress datapath of the edge switch above each IPv4 address
 * @param monitorPorts ports by switch and host
 * @param marksPorts false if switches can't change a copy's address, so copies of all traffic are
 *     not marked with their ports, and monitors infer the ports from routes
 * @param linkMbit speed of all links in Mb/s; 0 for the speeds that switches report
 */
public record NetworkMap(
    Map<String, Long> datapaths,
    Map<String, List<Integer>> addresses,
    Map<Integer, Long> switchOfAddress,
    Map<String, Map<String, MirrorPort>> monitorPorts,
    boolean marksPorts,
    long linkMbit) {
  public static final NetworkMap NOTHING = new NetworkMap(Map.of(), Map.of(), Map.of(), Map.of());

  private static final int HOST_LENGTH = 32;
  private static final long MAX_MBIT = 1_000_000;

  /** Creates the map of a network whose switches mark copies and report link speeds. */
  public NetworkMap(
      Map<String, Long> datapaths,
      Map<String, List<Integer>> addresses,
      Map<Integer, Long> switchOfAddress,
      Map<String, Map<String, MirrorPort>> monitorPorts) {
    this(datapaths, addresses, switchOfAddress, monitorPorts, true, 0);
  }

  /**
   * Reads the map of a network from its inventory.
   *
   * @throws IllegalArgumentException if it is invalid; the message names the error and its position
   */
  public static NetworkMap of(Network network, String inventory) {
    JsonNode section;
    try {
      section = new YAMLMapper().readTree(inventory).path("network").path("openflow");
    } catch (IOException e) {
      throw new IllegalArgumentException("inventory: not YAML", e);
    }
    Map<String, Long> datapaths = new HashMap<>();
    for (Map.Entry<String, JsonNode> entry : section.path("datapaths").properties()) {
      datapaths.put(entry.getKey(), number(entry.getValue(), "datapaths." + entry.getKey()));
    }
    Map<String, List<Integer>> addresses = new HashMap<>();
    Map<Integer, Long> switchOfAddress = new HashMap<>();
    for (int host = 0; host < network.addresses().size(); host++) {
      String edge = network.topology().edgeName(network.topology().edgeOf(host));
      List<Integer> own = ipv4(network.addresses().get(host));
      addresses.put(network.topology().host(host).name(), own);
      if (datapaths.containsKey(edge)) {
        own.forEach(address -> switchOfAddress.put(address, datapaths.get(edge)));
      }
    }
    return new NetworkMap(
        datapaths,
        addresses,
        switchOfAddress,
        monitorPorts(section.path("monitor_ports")),
        marksPorts(section.path("copies").asText("marked")),
        linkMbit(section.path("link_mbit")));
  }

  private static long linkMbit(JsonNode value) {
    long mbit = value.isMissingNode() ? 0 : number(value, "link_mbit");
    if (mbit < 0 || mbit > MAX_MBIT) {
      throw new IllegalArgumentException(
          "inventory, network: openflow.link_mbit must be from 0 to %d Mb/s, not %d"
              .formatted(MAX_MBIT, mbit));
    }
    return mbit;
  }

  /** Returns the format in which switches copy all of their traffic. */
  public CopyFormat copyFormat() {
    Map<String, Integer> queues = new TreeMap<>();
    for (Map<String, MirrorPort> ports : monitorPorts.values()) {
      ports.forEach((host, port) -> queues.merge(host, port.queue() == 0 ? 0 : 1, Integer::sum));
    }
    queues.values().removeIf(switches -> switches == 0);
    return new CopyFormat(marksPorts, queues);
  }

  private static boolean marksPorts(String copies) {
    if (!copies.equals("marked") && !copies.equals("unmarked")) {
      throw new IllegalArgumentException(
          "inventory, network: openflow.copies must be marked or unmarked, not '%s'"
              .formatted(copies));
    }
    return copies.equals("marked");
  }

  private static List<Integer> ipv4(List<IpPrefix> prefixes) {
    List<Integer> addresses = new ArrayList<>();
    for (IpPrefix prefix : prefixes) {
      if (prefix.family() == 4 && prefix.length() == HOST_LENGTH) {
        addresses.add((int) (prefix.high() >>> 32));
      }
    }
    return addresses;
  }

  private static Map<String, Map<String, MirrorPort>> monitorPorts(JsonNode section) {
    Map<String, Map<String, MirrorPort>> ports = new HashMap<>();
    for (Map.Entry<String, JsonNode> entry : section.properties()) {
      for (Map.Entry<String, JsonNode> host : entry.getValue().properties()) {
        String where = "monitor_ports.%s.%s".formatted(entry.getKey(), host.getKey());
        JsonNode value = host.getValue();
        long port = number(value.isObject() ? value.path("port") : value, where);
        long tunnel = value.has("tunnel") ? number(value.get("tunnel"), where) : 0;
        long queue = value.has("queue") ? number(value.get("queue"), where) : 0;
        ports
            .computeIfAbsent(entry.getKey(), key -> new HashMap<>())
            .put(host.getKey(), new MirrorPort((int) port, tunnel).withQueue((int) queue));
      }
    }
    return ports;
  }

  private static long number(JsonNode value, String where) {
    try {
      String text = value.asText();
      return text.startsWith("0x")
          ? Long.parseUnsignedLong(text.substring(2), 16)
          : Long.parseLong(text);
    } catch (NumberFormatException e) {
      throw new IllegalArgumentException(
          "inventory, network: openflow.%s must be a number, not '%s'"
              .formatted(where, value.asText()),
          e);
    }
  }
}
