package io.tapline.sdn.controller;

import io.tapline.sdn.flow.FlowMatch;
import io.tapline.sdn.flow.SwitchMessage.PacketOut;
import io.tapline.sdn.switches.Counter;
import io.tapline.sdn.switches.Counters;
import io.tapline.sdn.switches.TokenBucket;
import io.tapline.sdn.topology.Arp;
import io.tapline.sdn.topology.Host;
import io.tapline.sdn.topology.HostTable;
import io.tapline.sdn.topology.LinkTable;
import io.tapline.sdn.topology.Lldp;
import io.tapline.sdn.topology.SwitchPort;
import java.util.ArrayList;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;

/**
 * Learns the network from LLDP and ARP frames, and creates the frames that answer them. ARP never
 * crosses a link between switches: requests for known addresses are answered, and others are sent
 * out of all edge ports. This class sends nothing itself.
 */
public final class Discovery {
  /** Source address of the controller's ARP requests; locally administered. */
  private static final long OWN_MAC = 0x0e7a_9100_0001L;

  private static final int ETHER_TYPE_AT = 12;
  private static final double FLOODS_TO_SWITCHES_PER_SECOND = 5000;
  private static final int MAX_REMEMBERED_REQUESTS = 4096;
  private static final long REPEAT_REQUEST_NS = 500_000_000L;

  private final Lldp lldp;
  private final LinkTable links;
  private final HostTable hosts;
  private final Ports ports;
  private final Counters counters;
  private final TokenBucket floods;
  private final Map<Integer, Long> askedNs =
      new LinkedHashMap<>() {
        @Override
        protected boolean removeEldestEntry(Map.Entry<Integer, Long> eldest) {
          return size() > MAX_REMEMBERED_REQUESTS;
        }
      };

  /**
   * The result of handling a frame.
   *
   * @param orders messages to send
   * @param changed true if routes may have changed
   */
  public record Result(List<Order> orders, boolean changed) {
    private static final Result NOTHING = new Result(List.of(), false);
  }

  public Discovery(
      Lldp lldp, LinkTable links, HostTable hosts, Ports ports, Counters counters, long nowNs) {
    this.lldp = lldp;
    this.links = links;
    this.hosts = hosts;
    this.ports = ports;
    this.counters = counters;
    this.floods = new TokenBucket(FLOODS_TO_SWITCHES_PER_SECOND, nowNs);
  }

  /** Handles a frame that arrived at a port. */
  public Result packetIn(SwitchPort port, byte[] frame, long nowNs) {
    int etherType =
        frame.length < ETHER_TYPE_AT + 2
            ? 0
            : (frame[ETHER_TYPE_AT] & 0xff) << 8 | frame[ETHER_TYPE_AT + 1] & 0xff;
    if (etherType == FlowMatch.LLDP) {
      return lldp(port, lldp.read(frame), nowNs);
    } else if (etherType == FlowMatch.ARP && ports.isEdge(port)) {
      Arp arp = Arp.read(frame).orElse(null);
      if (arp == null) {
        counters.add(Counter.ARP_MALFORMED);
        return Result.NOTHING;
      }
      return arp(port, arp, nowNs);
    }
    counters.add(Counter.PACKET_INS_IGNORED);
    return Result.NOTHING;
  }

  private Result lldp(SwitchPort port, Lldp.Announcement announcement, long nowNs) {
    if (announcement.kind() != Lldp.Kind.OURS) {
      counters.add(
          announcement.kind() == Lldp.Kind.FORGED
              ? Counter.LLDP_FORGED
              : Counter.PACKET_INS_IGNORED);
      return Result.NOTHING;
    }
    if (hosts.isTaken(port) || hosts.isTaken(announcement.from())) {
      counters.add(Counter.LLDP_CONFLICTS);
      return doubted(port, announcement.from(), nowNs);
    }
    LinkTable.Outcome outcome =
        links.observe(announcement.from(), port, announcement.sentNs(), nowNs);
    switch (outcome) {
      case STALE -> counters.add(Counter.LLDP_STALE);
      case CONFLICT -> counters.add(Counter.LLDP_CONFLICTS);
      default -> {}
    }
    return new Result(List.of(), outcome == LinkTable.Outcome.NEW);
  }

  /**
   * Handles an LLDP frame that shows a link at a port where hosts were learned. Either a host
   * relayed the frame, or the hosts were learned there by mistake, before the link was known.
   * Probes the hosts: those that answer are behind the port.
   */
  private Result doubted(SwitchPort switchPort, SwitchPort claimed, long nowNs) {
    List<Order> probes = new ArrayList<>();
    boolean isGone = false;
    for (SwitchPort port : List.of(switchPort, claimed)) {
      if (hosts.isTaken(port)) {
        hosts.doubt(port, nowNs).forEach(host -> probes.add(probe(host)));
        isGone |= !hosts.isTaken(port);
      }
    }
    return new Result(probes, isGone);
  }

  private Result arp(SwitchPort port, Arp arp, long nowNs) {
    if (arp.senderMac() == OWN_MAC) {
      // The controller received its own request: this port is connected with the one from which
      // the request was sent.
      counters.add(Counter.PACKET_INS_IGNORED);
      return Result.NOTHING;
    }
    if (arp.senderMac() != arp.ethernetSource()) {
      counters.add(Counter.ARP_SPOOFED);
      return Result.NOTHING;
    }
    boolean hasChanged = false;
    if (arp.senderIp() != 0) {
      HostTable.Answer response = hosts.claim(arp.senderMac(), arp.senderIp(), port, nowNs);
      switch (response.verdict()) {
        case PROBE -> {
          return new Result(response.questions().stream().map(Discovery::probe).toList(), false);
        }
        case WAIT -> {
          return Result.NOTHING;
        }
        case SPOOFED -> counters.add(Counter.ARP_SPOOFED);
        case TOO_MANY -> counters.add(Counter.HOSTS_REFUSED);
        case LEARNED -> hasChanged = true;
        default -> {}
      }
      boolean believed =
          hosts.byIp(arp.senderIp()).filter(host -> host.at().equals(port)).isPresent();
      if (!believed) {
        return Result.NOTHING;
      }
    }
    boolean announced = arp.senderIp() == arp.targetIp();
    return new Result(announced ? List.of() : passedOn(port, arp, nowNs), hasChanged);
  }

  private static Order probe(HostTable.Question question) {
    Host host = question.host();
    return out(host.at(), Arp.request(OWN_MAC, 0, question.ip()).frame(host.mac()));
  }

  private static Order out(SwitchPort port, byte[] frame) {
    return new Order(port.datapath(), new PacketOut(List.of(port.port()), frame));
  }

  private List<Order> passedOn(SwitchPort port, Arp arp, long nowNs) {
    if (arp.operation() == Arp.REPLY) {
      return hosts
          .byMac(arp.targetMac())
          .map(host -> List.of(out(host.at(), arp.frame())))
          .orElse(List.of());
    }
    Optional<Host> target = hosts.byIp(arp.targetIp());
    if (target.isPresent()) {
      counters.add(Counter.ARP_ANSWERED);
      return target.get().at().equals(port)
          ? List.of()
          : List.of(out(port, arp.answeredBy(target.get().mac()).frame()));
    }
    return flooded(port, arp, nowNs);
  }

  private List<Order> flooded(SwitchPort switchPort, Arp arp, long nowNs) {
    Long lastNs = askedNs.get(arp.targetIp());
    boolean hasRoom = lastNs == null || nowNs - lastNs > REPEAT_REQUEST_NS;
    for (int i = 0; hasRoom && i < ports.switches(); i++) {
      hasRoom = floods.take(nowNs);
    }
    if (!hasRoom) {
      counters.add(Counter.ARP_FLOODS_DROPPED);
      return List.of();
    }
    askedNs.put(arp.targetIp(), nowNs);
    counters.add(Counter.ARP_FLOODED);
    return outOf(
        ports.edges().stream().filter(port -> !port.equals(switchPort)).toList(), arp.frame());
  }

  /** Returns ARP requests for an address, to be sent out of the given ports. */
  public List<Order> probeAddress(int ip, Collection<SwitchPort> collection) {
    return outOf(collection, Arp.request(OWN_MAC, 0, ip).frame());
  }

  private static List<Order> outOf(Collection<SwitchPort> collection, byte[] frame) {
    Map<Long, List<Integer>> bySwitch = new TreeMap<>();
    collection.forEach(
        port ->
            bySwitch.computeIfAbsent(port.datapath(), key -> new ArrayList<>()).add(port.port()));
    List<Order> orders = new ArrayList<>();
    bySwitch.forEach(
        (datapath, numbers) -> orders.add(new Order(datapath, new PacketOut(numbers, frame))));
    return orders;
  }

  /** Returns the LLDP frame to send out of a port to discover the switch behind it. */
  public Order hello(SwitchPort port, long nowNs) {
    return out(port, lldp.frame(port, nowNs));
  }
}
