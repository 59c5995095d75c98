package io.tapline.control.testbed;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** Generates the Open vSwitch commands for a fat tree's switches; runs nothing. */
final class Bridges {
  /**
   * Options that run DPDK without hugepages, which a host may lack, and without the host's devices.
   * By default, Open vSwitch would choose DPDK's memory mode that requires hugepages.
   */
  private static final String DPDK =
      "--no-huge --legacy-mem --no-pci --no-telemetry -m %d --file-prefix=%s";

  /**
   * Memory for DPDK's pool of 262,144 packet buffers, which all ports share, plus some headroom.
   */
  private static final int DPDK_MIB = 1024;

  private static final String LINK = "@rate";
  private static final String MIRROR = "@mirror";

  /**
   * Filters for destination addresses that begin with 02:7a:93. The address is 14 bytes before the
   * IP header, or 18 bytes in frames with a VLAN tag.
   */
  private static final List<String> PREFERRED_MARKS =
      List.of(
          "all prio 1 u32 match u16 0x027a 0xffff at -14 match u16 0x9300 0xff00 at -12",
          "802.1q prio 2 u32 match u16 0x027a 0xffff at -18 match u16 0x9300 0xff00 at -16");

  private final FatTreePlan plan;
  private final PolledPorts polled;
  private final Path folder;

  /**
   * Creates a generator for a plan.
   *
   * @param folder folder of the testbed
   */
  Bridges(FatTreePlan plan, Path folder) {
    this.plan = plan;
    this.polled = new PolledPorts(plan);
    this.folder = folder;
  }

  /**
   * Returns the words of the ovs-vsctl command to run before Open vSwitch starts; empty for none.
   */
  List<String> beforehand() {
    return plan.hasDpdk()
        ? List.of(
            "set",
            "Open_vSwitch",
            ".",
            "other_config:dpdk-init=true",
            "other_config:dpdk-extra=\""
                + DPDK.formatted(DPDK_MIB, "tapline-" + plan.name())
                + "\"",
            PolledPorts.sleep(polled.count() > 0))
        : List.of();
  }

  /** Returns a shell pattern that matches all memif sockets. */
  static String mirrorSockets(Path folder) {
    return folder + "/mirror-*.sock";
  }

  /** Returns the memif socket from which a host's copies are read. */
  static Path mirrorSocket(Path folder, FatTreePlan.Node host) {
    return folder.resolve("mirror-" + host.id() + ".sock");
  }

  /**
   * Returns the names of rates by port, for ports with a limited rate. Open vSwitch must set the
   * rates, since it removes queue disciplines that others set.
   */
  private Map<String, String> limited() {
    Map<String, String> ports = new HashMap<>();
    if (plan.linkMbit() > 0) {
      plan.cables()
          .forEach(cable -> List.of(cable.a(), cable.b()).forEach(p -> ports.put(p, LINK)));
      ports.putAll(polled.policed());
    }
    if (plan.hasMirrorQueues()) {
      plan.switches().forEach(sw -> ports.put(sw.collectorPort(), MIRROR));
    }
    return ports;
  }

  private static List<String> rate(String name, int mbit) {
    return List.of(
        "--",
        "--id=" + name,
        "create",
        "qos",
        "type=linux-htb",
        "other-config:max-rate=" + mbit * 1_000_000L);
  }

  /**
   * Returns the command words that create the queues of a mirror port. Each queue may use the whole
   * port while the other one is empty, so copies are only dropped while the port is busy, as
   * monitors assume.
   */
  private static List<String> mirrorQueues(Collector collector) {
    List<String> words = new ArrayList<>();
    words.addAll(queue(MIRROR + 0, collector.otherRate(), collector, 1));
    words.addAll(
        queue(MIRROR + Collector.PREFERRED_QUEUE, collector.preferredRate(), collector, 0));
    words.addAll(rate(MIRROR, collector.mirrorMbit()));
    words.add("queues:0=" + MIRROR + 0);
    words.add("queues:%1$d=%2$s%1$d".formatted(Collector.PREFERRED_QUEUE, MIRROR));
    return words;
  }

  private static List<String> queue(String name, long rate, Collector collector, int priority) {
    return List.of(
        "--",
        "--id=" + name,
        "create",
        "queue",
        "other-config:min-rate=" + rate,
        "other-config:max-rate=" + collector.mirrorMbit() * 1_000_000L,
        "other-config:priority=" + priority);
  }

  /**
   * Returns lines for {@code tc -batch} that create the queues of polled ports, and put copies with
   * a preferred mark into the preferred queue. Open vSwitch's userspace datapath ignores the action
   * set_queue on kernel ports.
   */
  String queues() {
    StringBuilder lines = new StringBuilder(polled.queues());
    int handle = Collector.PREFERRED_QUEUE + 1;
    for (FatTreePlan.Switch sw :
        plan.hasMirrorQueues() ? plan.switches() : List.<FatTreePlan.Switch>of()) {
      for (String mark : PREFERRED_MARKS) {
        lines.append(
            "filter add dev %s parent 1: protocol %s flowid 1:%d\n"
                .formatted(sw.collectorPort(), mark, handle));
      }
    }
    return lines.toString();
  }

  /** Returns the ovs-vsctl settings of DPDK interfaces, by port. */
  private Map<String, List<String>> types() {
    Map<String, List<String>> ports = new HashMap<>(polled.types());
    if (plan.memif()) {
      for (FatTreePlan.Node host : plan.hosts()) {
        String device =
            "net_memif_%s,role=server,id=0,socket-abstract=no,socket=%s"
                .formatted(host.id().replace('-', '_'), mirrorSocket(folder, host));
        ports.put(
            host.mirrorPort(), List.of("type=dpdk", "options:dpdk-devargs=\"" + device + "\""));
      }
    }
    return ports;
  }

  /**
   * Returns the ovs-vsctl commands, as one transaction, that create the bridges, which forward only
   * as a controller requests.
   */
  List<String> commands(int openFlowPort) {
    List<String> words = new ArrayList<>();
    int number = 0;
    Map<String, String> limited = limited();
    Map<String, List<String>> types = types();
    if (limited.containsValue(LINK)) {
      words.addAll(rate(LINK, plan.linkMbit()));
    }
    words.addAll(polled.policer());
    if (limited.containsValue(MIRROR)) {
      words.addAll(mirrorQueues(plan.collector()));
    }
    for (FatTreePlan.Switch sw : plan.switches()) {
      String bridge = sw.bridge();
      String controller = "@c" + number++;
      words.addAll(List.of("--", "--id=" + controller, "create", "controller", "max_backoff=1000"));
      words.add("connection_mode=out-of-band");
      words.add("target=\"tcp:127.0.0.1:%d\"".formatted(openFlowPort));
      words.addAll(List.of("--", "add-br", bridge, "--", "set", "bridge", bridge));
      words.add("controller=" + controller);
      words.addAll(List.of("datapath_type=netdev", "fail_mode=secure"));
      words.add("protocols=OpenFlow13,OpenFlow14");
      words.add("other-config:datapath-id=%016x".formatted(sw.datapath()));
      words.add("other-config:disable-in-band=true");
      for (int port = 0; port < sw.ports().size(); port++) {
        String device = sw.ports().get(port);
        words.addAll(List.of("--", "add-port", bridge, device));
        words.addAll(List.of("--", "set", "interface", device, "ofport_request=" + (port + 1)));
        words.addAll(types.getOrDefault(device, List.of()));
        if (limited.containsKey(device)) {
          words.addAll(List.of("--", "set", "port", device, "qos=" + limited.get(device)));
        }
      }
    }
    return words;
  }
}
