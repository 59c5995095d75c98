package io.tapline.control.testbed;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;

/**
 * Generates the commands for ports that a DPDK thread polls; runs nothing.
 *
 * <p>Open vSwitch's main thread reads other ports, up to 32 packets at a time, and sends all their
 * copies before or after the packets themselves. A polled port rarely has more than one packet
 * waiting, so a copy and its packet leave within microseconds of each other.
 *
 * <p>A polled port's queue is in the kernel (HTB), and Open vSwitch can't set its rate. Open
 * vSwitch's egress-policer drops packets that do not fit the queue: if the kernel dropped a packet,
 * DPDK's af_packet would send it again and again.
 */
final class PolledPorts {
  /** Maximum number of DPDK ports in a process (RTE_MAX_ETHPORTS of Debian's packages). */
  static final int MAX_PORTS = 32;

  /** Maximum time that a polling thread sleeps while nothing arrives, in microseconds. */
  private static final int SLEEP_US = 50;

  /**
   * Shell command that gives a process's polling threads real-time priority, so they run before
   * everything else on the processor; they sleep most of the time. The main thread can't have this
   * priority, since it busy-waits for the polling threads.
   */
  private static final String FIRST =
      "for thread in /proc/$(cat '%s')/task/*; do case $(cat $thread/comm) in pmd*) chrt --fifo --pid 1 ${thread##*/};; esac; done";

  private static final String QOS = "@policer";
  private static final int MTU = 1500;
  private static final int FRAME = MTU + 14;
  private static final int BITS_PER_BYTE = 8;

  /**
   * Minimum ring size of a device, in packets. A packet occupies the ring until it has left the
   * queue.
   */
  private static final int MIN_RING = 1024;

  private final FatTreePlan plan;

  /** Creates the commands for the polled switches of a plan. */
  PolledPorts(FatTreePlan plan) {
    this.plan = plan;
  }

  /** Returns the number of polled ports. */
  int count() {
    return devices().size();
  }

  /** Returns the Open vSwitch setting for the maximum time that its polling threads sleep. */
  static String sleep(boolean hasPolledPorts) {
    return "other_config:pmd-maxsleep=" + (hasPolledPorts ? SLEEP_US : 1000);
  }

  /** Returns a shell command that gives the polling threads of a running switch their priority. */
  static String prioritize(Path pidFile) {
    return FIRST.formatted(pidFile);
  }

  /**
   * Returns the polled devices. Ports to the collector remain kernel ports, since they have queues
   * with rates; the polling thread sends to them as well.
   */
  private List<String> devices() {
    List<String> polled = new ArrayList<>();
    for (FatTreePlan.Switch sw : plan.switches()) {
      if (plan.polled().contains(sw.id())) {
        polled.addAll(sw.ports());
        polled.remove(sw.collectorPort());
      }
    }
    if (plan.memif()) {
      polled.removeAll(plan.hosts().stream().map(FatTreePlan.Node::mirrorPort).toList());
    }
    return polled;
  }

  /** Returns the polled ports at the ends of links with a rate. */
  private List<String> limited() {
    List<String> polled = devices();
    return plan.linkMbit() == 0
        ? List.of()
        : plan.cables().stream()
            .flatMap(cable -> List.of(cable.a(), cable.b()).stream())
            .filter(polled::contains)
            .toList();
  }

  /**
   * Returns the ring size of a device in packets, a power of two: more than twice the number of
   * full packets that fit into the queue.
   */
  private int ring() {
    return Math.max(MIN_RING, Integer.highestOneBit(plan.queue()) * 4);
  }

  /** Returns the type and options of each polled port, by its name. */
  Map<String, List<String>> types() {
    Map<String, List<String>> types = new HashMap<>();
    for (String device : devices()) {
      String arguments =
          "net_af_packet_%s,iface=%s,framecnt=%d,qdisc_bypass=0"
              .formatted(device.replace('-', '_'), device, ring());
      types.put(device, List.of("type=dpdk", "options:dpdk-devargs=\"" + arguments + "\""));
    }
    return types;
  }

  /** Returns the name of the QoS record of each polled port that Open vSwitch limits. */
  Map<String, String> policed() {
    return limited().stream().collect(Collectors.toMap(device -> device, device -> QOS));
  }

  /**
   * Returns the ovs-vsctl arguments that create the egress policer; empty if no polled port is
   * limited. The policer's rate excludes Ethernet headers, which it does not count.
   */
  List<String> policer() {
    List<String> words = new ArrayList<>();
    if (!limited().isEmpty()) {
      long bytesPerSecond = plan.linkMbit() * 1_000_000L / BITS_PER_BYTE * MTU / FRAME;
      words.addAll(List.of("--", "--id=" + QOS, "create", "qos", "type=egress-policer"));
      words.add("other-config:cir=" + bytesPerSecond);
      words.add("other-config:cbs=" + (long) plan.queue() * MTU);
    }
    return words;
  }

  /**
   * Returns lines for {@code tc -batch} that create the queues. Each queue can hold all packets in
   * its device's ring, since the device would resend any that the kernel drops.
   */
  String queues() {
    return limited().stream()
        .map(
            device ->
                """
                qdisc replace dev %1$s root handle 1: htb default 1
                class add dev %1$s parent 1: classid 1:1 htb rate %2$dmbit burst %3$d quantum %3$d
                qdisc add dev %1$s parent 1:1 pfifo limit %4$d
                """
                    .formatted(device, plan.linkMbit(), FRAME, ring()))
        .collect(Collectors.joining());
  }
}
