package io.tapline.control.testbed;

import java.util.ArrayList;
import java.util.List;
import java.util.stream.Collectors;

/**
 * A fat tree of Open vSwitch bridges as the names and commands that make it; nothing runs here.
 *
 * <pre>
 * NAME-c0…      core switches           NAME-c0d3    port of core 0, down to pod 3
 * NAME-a01      aggregation, pod 0      NAME-a01u0   port, up; d: down
 * NAME-e01      edge                    NAME-e01h0   port, to its host 0
 * NAME-h-0-1-0  namespace of a host     eth0         within, 10.0.1.2
 * </pre>
 *
 * @param name before everything that it makes
 * @param linkMbit of each link between switches; 0 as fast as they go
 */
public record FatTreePlan(String name, int k, int linkMbit) {
  private static final int LARGEST_K = 8;
  private static final int EDGE = 0x1_0000;
  private static final int AGGREGATION = 0x2_0000;
  private static final int CORE = 0x3_0000;

  /** A bridge. */
  public record Switch(String id, String bridge, long datapath, List<String> ports) {}

  /** A host. */
  public record Node(String id, String namespace, String switchPort, String mac, String address) {}

  /** A cable between two switches: its ends. */
  public record Cable(String a, String b) {}

  public FatTreePlan {
    if (k < 2 || k > LARGEST_K || k % 2 != 0) {
      throw new IllegalArgumentException(
          "a fat tree here has an even k from 2 to " + LARGEST_K + ", not " + k);
    }
    if (!name.matches("[a-z][a-z0-9]{0,5}")) {
      throw new IllegalArgumentException(
          "'" + name + "' is no name for a testbed: a letter and up to 5 letters or digits");
    }
    if (linkMbit < 0) {
      throw new IllegalArgumentException("a link's rate can't be negative");
    }
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
        switches.add(made("edge-%d-%d", pod, i, edge, EDGE, ports(edge, 'h', half(), 'u')));
        switches.add(
            made("aggregation-%d-%d", pod, i, above, AGGREGATION, ports(above, 'd', half(), 'u')));
      }
    }
    for (int core = 0; core < half() * half(); core++) {
      String id = "c%d".formatted(core);
      switches.add(
          new Switch("core-" + core, device(id), CORE + core, ports(id, 'd', k, (char) 0)));
    }
    return switches;
  }

  private Switch made(String pattern, int pod, int i, String id, int base, List<String> ports) {
    return new Switch(pattern.formatted(pod, i), device(id), base + pod * 256L + i, ports);
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
                  "02:00:00:%02x:%02x:%02x".formatted(pod, i, h),
                  "10.%d.%d.%d".formatted(pod, i, h + 2)));
        }
      }
    }
    return hosts;
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

  private Cable cable(String pattern, int pod, int i, int j, String other) {
    return new Cable(device(pattern.formatted(pod, i, j)), device(other));
  }

  /** Every network device that it makes outside of namespaces. */
  public List<String> devices() {
    List<String> devices = new ArrayList<>();
    switches().forEach(each -> devices.add(each.bridge()));
    hosts().forEach(host -> devices.add(host.switchPort()));
    cables().forEach(cable -> devices.addAll(List.of(cable.a(), cable.b())));
    return devices;
  }

  public List<String> namespaces() {
    return hosts().stream().map(Node::namespace).toList();
  }

  /** Lines for {@code ip -batch}: namespaces and cables. */
  String ipCommands() {
    StringBuilder lines = new StringBuilder();
    for (Node host : hosts()) {
      lines.append("netns add %s\n".formatted(host.namespace()));
      lines.append(
          "link add %s type veth peer name eth0 address %s netns %s\n"
              .formatted(host.switchPort(), host.mac(), host.namespace()));
      lines.append(up(host.switchPort()));
    }
    for (Cable cable : cables()) {
      lines.append("link add %s type veth peer name %s\n".formatted(cable.a(), cable.b()));
      lines.append(up(cable.a())).append(up(cable.b()));
    }
    return lines.toString();
  }

  /** Without addresses of its own: only what switches send goes over it. */
  private static String up(String device) {
    return "link set %s addrgenmode none\nlink set %s up\n".formatted(device, device);
  }

  /**
   * What is done within a host's namespace. Checksums left to hardware that is not there stall TCP.
   */
  String hostCommands(Node host) {
    return """
        sysctl -qw net.ipv6.conf.all.disable_ipv6=1 2>/dev/null || true
        ethtool -K eth0 tx off >/dev/null
        ip addr add %s/8 dev eth0
        ip link set lo up
        ip link set eth0 up
        """
        .formatted(host.address());
  }

  /** Lines for {@code tc -batch}: the rates of links between switches. */
  String rateCommands() {
    return linkMbit == 0
        ? ""
        : cables().stream()
            .flatMap(cable -> List.of(cable.a(), cable.b()).stream())
            .map(
                device ->
                    "qdisc add dev %s root tbf rate %dmbit burst 64kb latency 20ms\n"
                        .formatted(device, linkMbit))
            .collect(Collectors.joining());
  }

  /** What ovs-vsctl does, in one transaction: bridges that only do what a controller says. */
  List<String> bridgeCommands(int openFlowPort) {
    List<String> words = new ArrayList<>();
    int number = 0;
    for (Switch each : switches()) {
      String bridge = each.bridge();
      String controller = "@c" + number++;
      words.addAll(List.of("--", "--id=" + controller, "create", "controller", "max_backoff=1000"));
      words.add("connection_mode=out-of-band");
      words.add("target=\"tcp:127.0.0.1:%d\"".formatted(openFlowPort));
      words.addAll(List.of("--", "add-br", bridge, "--", "set", "bridge", bridge));
      words.add("controller=" + controller);
      words.addAll(List.of("datapath_type=netdev", "fail_mode=secure"));
      words.add("protocols=OpenFlow13,OpenFlow14");
      words.add("other-config:datapath-id=%016x".formatted(each.datapath()));
      words.add("other-config:disable-in-band=true");
      for (int port = 0; port < each.ports().size(); port++) {
        String device = each.ports().get(port);
        words.addAll(List.of("--", "add-port", bridge, device));
        words.addAll(List.of("--", "set", "interface", device, "ofport_request=" + (port + 1)));
      }
    }
    return words;
  }

  /** The network for Tapline, with everybody's names and numbers. */
  public String inventory() {
    String hosts =
        hosts().stream()
            .map(host -> "  %s: %s\n".formatted(host.id(), host.address()))
            .collect(Collectors.joining());
    String datapaths =
        switches().stream()
            .map(each -> "      %s: 0x%x\n".formatted(each.id(), each.datapath()))
            .collect(Collectors.joining());
    return "hosts:\n%snetwork:\n  fat_tree: %d\n  openflow:\n    datapaths:\n%s"
        .formatted(hosts, k, datapaths);
  }
}
