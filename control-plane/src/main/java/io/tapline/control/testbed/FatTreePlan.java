package io.tapline.control.testbed;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;

/**
 * A fat tree of Open vSwitch bridges: generates its names and commands, but runs nothing.
 *
 * <pre>
 * NAME-c0…      core switches           NAME-c0d3    port of core 0, down to pod 3
 * NAME-a01      aggregation, pod 0      NAME-a01u0   port, up; d: down
 * NAME-e01      edge                    NAME-e01h0   port, to its host 0
 *                                       NAME-e01m0   port, copies for its host 0
 * NAME-h-0-1-0  namespace of a host     eth0         inside, 10.0.1.2
 *                                       mirror0      inside, receives copies
 * NAME-m010     outer end of control0   control0     inside, to a control plane on this machine
 * NAME-collector  namespace             e01…         inside, a switch's copies; outside, NAME-e01t
 * </pre>
 *
 * @param name prefix of all its names
 * @param linkMbit rate of each link between switches; 0 for no limit
 * @param queuePackets queue length of each port with a rate, in packets; 0 for 20 ms of full
 *     packets, at least 10
 * @param memif true if mirror ports are shared memory (DPDK's memif) rather than network devices;
 *     hosts then have no mirror0
 * @param polled names of the switches whose ports {@link PolledPorts DPDK polls}, in any order;
 *     kept sorted
 * @param collector null for none
 */
public record FatTreePlan(
    String name,
    int k,
    int linkMbit,
    int queuePackets,
    boolean memif,
    List<String> polled,
    Collector collector) {
  private static final int LARGEST_K = 8;
  private static final int EDGE = 0x1_0000;
  private static final int AGGREGATION = 0x2_0000;
  private static final int CORE = 0x3_0000;

  /** A bridge. */
  public record Switch(String id, String bridge, long datapath, List<String> ports) {
    /** Returns the collector's interface for this switch's copies. */
    String collected() {
      return bridge.substring(bridge.indexOf('-') + 1);
    }

    /** Returns the port to the collector. */
    String collectorPort() {
      return bridge + "t";
    }
  }

  /**
   * A host, with the ports of its edge switch that lead to it.
   *
   * @param control outer end of the link over which the host reaches a control plane on this
   *     machine
   */
  public record Node(
      String id,
      String namespace,
      String switchPort,
      String mirrorPort,
      String control,
      String mac,
      String address,
      String controlAddress) {}

  /** A cable between two switches, given by its ends. */
  public record Cable(String a, String b) {}

  /** Creates a plan with default queues, whose mirror ports are network devices. */
  public FatTreePlan(String name, int k, int linkMbit) {
    this(name, k, linkMbit, 0, false);
  }

  /** Creates a plan without polled ports and without a collector. */
  public FatTreePlan(String name, int k, int linkMbit, int queuePackets, boolean memif) {
    this(name, k, linkMbit, queuePackets, memif, List.of(), null);
  }

  public FatTreePlan {
    if (k < 2 || k > LARGEST_K || k % 2 != 0) {
      throw new IllegalArgumentException(
          "k must be an even number from 2 to " + LARGEST_K + ", not " + k);
    }
    if (!name.matches("[a-z][a-z0-9]{0,5}")) {
      throw new IllegalArgumentException(
          "'" + name + "' is not a testbed name: use a letter and up to 5 letters or digits");
    }
    if (linkMbit < 0) {
      throw new IllegalArgumentException("a link's rate can't be negative");
    }
    if (queuePackets < 0) {
      throw new IllegalArgumentException("the length of a queue can't be negative");
    }
    if (queuePackets > 0 && linkMbit == 0) {
      throw new IllegalArgumentException(
          "a link without a rate has no queue: give --link-mbit with --queue-packets");
    }
    if (collector != null) {
      collector.requireTaps(5 * k * k / 4);
    }
    polled = polled.stream().distinct().sorted().toList();
  }

  /**
   * Returns this plan with polled ports on these switches.
   *
   * @throws IllegalArgumentException if a switch does not exist, or there would be too many DPDK
   *     ports
   */
  public FatTreePlan polling(List<String> switches) {
    for (String id : switches) {
      if (switches().stream().noneMatch(sw -> sw.id().equals(id))) {
        throw new IllegalArgumentException(
            "the tree has no switch '%s' to poll: its switches are %s"
                .formatted(
                    id, switches().stream().map(Switch::id).collect(Collectors.joining(", "))));
      }
    }
    FatTreePlan polling =
        new FatTreePlan(name, k, linkMbit, queuePackets, memif, switches, collector);
    int ports = new PolledPorts(polling).count() + (memif ? hosts().size() : 0);
    if (ports > PolledPorts.MAX_PORTS) {
      throw new IllegalArgumentException(
          "these switches would have %d DPDK ports, but the maximum is %d: poll fewer switches"
              .formatted(ports, PolledPorts.MAX_PORTS));
    }
    return polling;
  }

  /** Returns true if Open vSwitch needs DPDK. */
  boolean hasDpdk() {
    return memif || !polled.isEmpty();
  }

  /** Returns this plan with a collector. */
  public FatTreePlan with(Collector newCollector) {
    return new FatTreePlan(name, k, linkMbit, queuePackets, memif, polled, newCollector);
  }

  private int half() {
    return k / 2;
  }

  public List<Switch> switches() {
    List<Switch> switches = new ArrayList<>();
    for (int pod = 0; pod < k; pod++) {
      for (int i = 0; i < half(); i++) {
        String edge = "e%d%d".formatted(pod, i);
        String above = "a%d%d".formatted(pod, i);
        List<String> ports = ports(edge, 'h', half(), 'u');
        ports.addAll(ports(edge, 'm', half(), (char) 0));
        switches.add(made("edge-%d-%d", pod, i, edge, EDGE, ports));
        List<String> between = ports(above, 'd', half(), 'u');
        switches.add(made("aggregation-%d-%d", pod, i, above, AGGREGATION, between));
      }
    }
    for (int core = 0; core < half() * half(); core++) {
      String id = "c%d".formatted(core);
      switches.add(made("core-" + core, id, CORE + core, ports(id, 'd', k, (char) 0)));
    }
    return switches;
  }

  private Switch made(String pattern, int pod, int i, String id, int base, List<String> ports) {
    return made(pattern.formatted(pod, i), id, base + pod * 256L + i, ports);
  }

  private Switch made(String switchId, String id, long datapath, List<String> ports) {
    Switch madeSwitch = new Switch(switchId, device(id), datapath, ports);
    if (collector != null) {
      ports.add(madeSwitch.collectorPort());
    }
    return madeSwitch;
  }

  private List<String> ports(String id, char down, int downs, char up) {
    List<String> ports = new ArrayList<>();
    for (int i = 0; i < downs; i++) {
      ports.add(device(id + down + i));
    }
    for (int i = 0; up != 0 && i < half(); i++) {
      ports.add(device(id + up + i));
    }
    return ports;
  }

  private String device(String id) {
    return name + "-" + id;
  }

  public List<Node> hosts() {
    List<Node> hosts = new ArrayList<>();
    for (int pod = 0; pod < k; pod++) {
      for (int i = 0; i < half(); i++) {
        for (int h = 0; h < half(); h++) {
          String id = "h-%d-%d-%d".formatted(pod, i, h);
          hosts.add(
              new Node(
                  id,
                  name + "-" + id,
                  device("e%d%dh%d".formatted(pod, i, h)),
                  device("e%d%dm%d".formatted(pod, i, h)),
                  device("m%d%d%d".formatted(pod, i, h)),
                  "02:00:00:%02x:%02x:%02x".formatted(pod, i, h),
                  "10.%d.%d.%d".formatted(pod, i, h + 2),
                  control(hosts.size() + 2)));
        }
      }
    }
    return hosts;
  }

  /**
   * Returns an address in 198.18.0.0/15, which is reserved for benchmarks (RFC 2544). The testbed's
   * name determines the third byte.
   */
  private String control(int number) {
    return "198.19.%d.%d".formatted(Math.floorMod(name.hashCode(), 256), number);
  }

  /** Returns the address at which the tree's hosts reach a control plane on this machine. */
  public String controlAddress() {
    return control(1);
  }

  public List<Cable> cables() {
    List<Cable> cables = new ArrayList<>();
    for (int pod = 0; pod < k; pod++) {
      for (int i = 0; i < half(); i++) {
        for (int j = 0; j < half(); j++) {
          cables.add(cable("e%d%du%d", pod, i, j, "a%d%dd%d".formatted(pod, j, i)));
          cables.add(cable("a%d%du%d", pod, i, j, "c%dd%d".formatted(i * half() + j, pod)));
        }
      }
    }
    return cables;
  }

  private Cable cable(String pattern, int pod, int i, int j, String remainder) {
    return new Cable(device(pattern.formatted(pod, i, j)), device(remainder));
  }

  /** Returns every network device that the plan creates outside of namespaces. */
  public List<String> devices() {
    List<String> devices = new ArrayList<>();
    switches().forEach(sw -> devices.add(sw.bridge()));
    for (Node host : hosts()) {
      devices.addAll(List.of(host.switchPort(), host.control()));
      devices.addAll(memif ? List.of() : List.of(host.mirrorPort()));
    }
    cables().forEach(cable -> devices.addAll(List.of(cable.a(), cable.b())));
    if (collector != null) {
      switches().forEach(sw -> devices.add(sw.collectorPort()));
      devices.add(collectorControl());
    }
    return devices;
  }

  public List<String> namespaces() {
    List<String> namespaces = new ArrayList<>(hosts().stream().map(Node::namespace).toList());
    if (collector != null) {
      namespaces.add(collectorNamespace());
    }
    return namespaces;
  }

  /** Returns true if the switches' ports to the collector have queues. */
  boolean hasMirrorQueues() {
    return collector != null && collector.hasQueues();
  }

  String collectorNamespace() {
    return device(Collector.NAME);
  }

  /** Returns the outer end of the collector's link to a control plane. */
  private String collectorControl() {
    return device("mt");
  }

  private String collectorAddress() {
    return control(hosts().size() + 2);
  }

  /** Returns lines for {@code ip -batch} that create the namespaces and cables. */
  String ipCommands() {
    StringBuilder lines = new StringBuilder();
    for (Node host : hosts()) {
      lines.append("netns add %s\n".formatted(host.namespace()));
      String space = host.namespace();
      lines.append(cable(host.switchPort(), "eth0 address " + host.mac(), space));
      lines.append(memif ? "" : cable(host.mirrorPort(), "mirror0", space));
      lines.append(cable(host.control(), "control0", space));
      lines.append(
          "addr add %s peer %s dev %s\n"
              .formatted(controlAddress(), host.controlAddress(), host.control()));
    }
    for (Cable cable : cables()) {
      lines.append("link add %s type veth peer name %s\n".formatted(cable.a(), cable.b()));
      for (String end : List.of(cable.a(), cable.b())) {
        lines.append(linkMbit > 0 ? "link set %s txqueuelen %d\n".formatted(end, queue()) : "");
        lines.append(up(end));
      }
    }
    return lines + collectorIpCommands();
  }

  private String collectorIpCommands() {
    if (collector == null) {
      return "";
    }
    String space = collectorNamespace();
    StringBuilder lines = new StringBuilder("netns add %s\n".formatted(space));
    for (Switch sw : switches()) {
      lines.append(cable(sw.collectorPort(), sw.collected(), space));
      lines.append(
          collector.mirrorMbit() > 0
              ? "link set %s txqueuelen %d\n"
                  .formatted(sw.collectorPort(), collector.queuePackets())
              : "");
    }
    lines.append(cable(collectorControl(), "control0", space));
    lines.append(
        "addr add %s peer %s dev %s\n"
            .formatted(controlAddress(), collectorAddress(), collectorControl()));
    return lines.toString();
  }

  /** Returns the commands for the collector's namespace. REQUIRES: there is one. */
  String collectorCommands() {
    String taps = switches().stream().map(Switch::collected).collect(Collectors.joining(" "));
    return """
    sysctl -qw net.ipv6.conf.all.disable_ipv6=1 2>/dev/null || true
    for device in %s; do ip link set $device arp off up; done
    ip addr add %s peer %s dev control0
    for device in lo control0; do ip link set $device up; done
    """
        .formatted(taps, collectorAddress(), controlAddress());
  }

  private static String cable(String device, String peer, String namespace) {
    return "link add %s type veth peer name %s netns %s\n".formatted(device, peer, namespace)
        + up(device);
  }

  /**
   * Returns the commands that bring a device up without addresses, since it carries only packets
   * that switches send.
   */
  private static String up(String device) {
    return "link set %s addrgenmode none\nlink set %s up\n".formatted(device, device);
  }

  /**
   * Returns the commands for a host's namespace. Checksum offload is disabled: TCP would stall,
   * since no hardware fills in the checksums. ARP is disabled on the mirror port: a controller
   * would mistake a port that answers ARP for the host's location.
   */
  String hostCommands(Node host) {
    return """
    sysctl -qw net.ipv6.conf.all.disable_ipv6=1 2>/dev/null || true
    ethtool -K eth0 tx off >/dev/null
    %s
    ip addr add %s/8 dev eth0
    ip addr add %s peer %s dev control0
    for device in lo eth0 control0; do ip link set $device up; done
    """
        .formatted(
            memif ? "" : "ip link set mirror0 arp off up",
            host.address(),
            host.controlAddress(),
            controlAddress());
  }

  /**
   * Returns the length of a port's queue in full packets. It is set as the port's txqueuelen, since
   * Open vSwitch removes other queue disciplines.
   */
  int queue() {
    return queuePackets > 0 ? queuePackets : Math.max(10, linkMbit * 20_000 / (1500 * 8));
  }

  /** Returns the inventory of the network, with all names and addresses. */
  public String inventory() {
    String hosts =
        hosts().stream()
            .map(host -> "  %s: %s\n".formatted(host.id(), host.address()))
            .collect(Collectors.joining());
    String datapaths =
        switches().stream()
            .map(bridge -> "      %s: 0x%x\n".formatted(bridge.id(), bridge.datapath()))
            .collect(Collectors.joining());
    return "hosts:\n%snetwork:\n  fat_tree: %d\n%s  openflow:\n%s    datapaths:\n%s    monitor_ports:\n%s"
        .formatted(
            hosts,
            k,
            collector == null ? "" : portNumbers(),
            linkMbit == 0 ? "" : "    link_mbit: %d\n".formatted(linkMbit),
            datapaths,
            monitorPorts());
  }

  /** Returns the inventory's section of port numbers, which copies for the collector carry. */
  private String portNumbers() {
    Map<String, String> neighbours = new HashMap<>();
    hosts().forEach(host -> neighbours.put(host.switchPort(), host.id()));
    Map<String, String> switchOf = new HashMap<>();
    switches().forEach(sw -> sw.ports().forEach(port -> switchOf.put(port, sw.id())));
    for (Cable cable : cables()) {
      neighbours.put(cable.a(), switchOf.get(cable.b()));
      neighbours.put(cable.b(), switchOf.get(cable.a()));
    }
    StringBuilder lines = new StringBuilder("  ports:\n");
    for (Switch sw : switches()) {
      String ports =
          sw.ports().stream()
              .filter(neighbours::containsKey)
              .map(port -> neighbours.get(port) + ": " + (sw.ports().indexOf(port) + 1))
              .collect(Collectors.joining(", "));
      lines.append("    %s: {%s}\n".formatted(sw.id(), ports));
    }
    return lines.toString();
  }

  private String monitorPort(String monitor, int port) {
    return monitor.equals(Collector.NAME) && hasMirrorQueues()
        ? "%s: {port: %d, queue: %d}".formatted(monitor, port, Collector.PREFERRED_QUEUE)
        : "%s: %d".formatted(monitor, port);
  }

  /** Returns the switches' mirror ports, which carry copies only. */
  private String monitorPorts() {
    StringBuilder lines = new StringBuilder();
    for (Switch sw : switches()) {
      Map<String, String> monitors = new LinkedHashMap<>();
      hosts().forEach(host -> monitors.put(host.id(), host.mirrorPort()));
      monitors.put(Collector.NAME, sw.collectorPort());
      String ports =
          monitors.entrySet().stream()
              .filter(monitor -> sw.ports().contains(monitor.getValue()))
              .map(
                  monitor ->
                      monitorPort(monitor.getKey(), sw.ports().indexOf(monitor.getValue()) + 1))
              .collect(Collectors.joining(", "));
      lines.append(ports.isEmpty() ? "" : "      %s: {%s}\n".formatted(sw.id(), ports));
    }
    return lines.toString();
  }
}
