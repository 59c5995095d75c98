package io.tapline.sdn.mirror;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.tapline.network.IpPrefix;
import io.tapline.network.rules.CopyMark;
import io.tapline.network.rules.PortMask;
import io.tapline.network.rules.RuleMatch;
import io.tapline.network.rules.RuleTable;
import io.tapline.network.rules.Wanted;
import io.tapline.sdn.FakeSwitch;
import io.tapline.sdn.FakeSwitch.Sent;
import io.tapline.sdn.flow.Flow;
import io.tapline.sdn.flow.FlowMatch;
import io.tapline.sdn.forwarding.BaseFlows;
import io.tapline.sdn.forwarding.ForwardingFlows;
import io.tapline.sdn.forwarding.Trees;
import io.tapline.sdn.topology.Host;
import io.tapline.sdn.topology.Link;
import io.tapline.sdn.topology.SwitchPort;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.OptionalInt;
import java.util.Set;
import java.util.SortedSet;
import java.util.TreeSet;
import org.junit.jupiter.api.Test;

/**
 * Tests rules that name ports, on a switch with a host at port 1, two switches at ports 2 and 3,
 * and a monitor at port 9. Packets to hosts 0x20 and 0x21 leave through port 2.
 */
class PortFlowsTest {
  private static final long HERE = 1;
  private static final long NEAR = 0x10;
  private static final long FAR = 0x20;
  private static final long FARTHER = 0x21;
  private static final long ARRIVALS = CopyMark.arrivals(1);
  private static final long DEPARTURES = CopyMark.departures(2);
  private static final Trees TREES = trees();
  private static final RuleTable TABLE =
      RuleTable.of(
          List.of(
              new Wanted("q", "arrivals", RuleMatch.leaving("2")),
              new Wanted("q", "departures", RuleMatch.entering("3")),
              new Wanted(
                  "p",
                  "plain",
                  new RuleMatch(
                      IpPrefix.ANY, IpPrefix.of("10.0.0.1"), 0, PortMask.ANY, PortMask.ANY, 0, 0))),
          100);

  private static Trees trees() {
    List<Link> links = new ArrayList<>();
    for (int peer = 2; peer <= 3; peer++) {
      Link link = new Link(new SwitchPort(HERE, peer), new SwitchPort(peer, 1));
      links.addAll(List.of(link, link.reversed()));
    }
    return Trees.of(
        links,
        List.of(host(NEAR, HERE, 1), host(FAR, 2, 7), host(FARTHER, 2, 8), host(0x30, 3, 7)));
  }

  private static Host host(long mac, long datapath, int port) {
    return new Host(mac, new SwitchPort(datapath, port), Set.of(), 0);
  }

  /**
   * The ports of the middle switch. Its neighbours send it the packets of all hosts except their
   * own.
   */
  private static final PortLookup PORTS =
      new PortLookup() {
        @Override
        public OptionalInt number(String port) {
          return port.equals("lost") ? OptionalInt.empty() : OptionalInt.of(Integer.parseInt(port));
        }

        @Override
        public SortedSet<Long> leaving(int port) {
          return hosts(HERE, port);
        }

        @Override
        public SortedSet<Long> entering(int port) {
          return port == 1 ? new TreeSet<>(TREES.hops(HERE).keySet()) : hosts(port, 1);
        }
      };

  private static SortedSet<Long> hosts(long datapath, int port) {
    SortedSet<Long> hosts = new TreeSet<>();
    TREES
        .hops(datapath)
        .forEach(
            (mac, hop) -> {
              if (hop.port() == port) {
                hosts.add(mac);
              }
            });
    return hosts;
  }

  private static FakeSwitch with(List<Flow> flows) {
    FakeSwitch fake = new FakeSwitch();
    BaseFlows.of(1).forEach(flow -> fake.flows.put(flow.key(), flow));
    ForwardingFlows.of(TREES, HERE, 1).forEach(flow -> fake.flows.put(flow.key(), flow));
    flows.forEach(flow -> assertThat(fake.flows.put(flow.key(), flow)).isNull());
    return fake;
  }

  private static FakeSwitch.Packet packet(int in, long target, String source, String address) {
    RuleMatch.Header header =
        new RuleMatch.Header(IpPrefix.of(source), IpPrefix.of(address), 17, 5, 6, 0, 0);
    return new FakeSwitch.Packet(in, target, FlowMatch.IPV4, header);
  }

  private static MirrorFlows.Result flows(int arrivalsTo) {
    Map<String, MirrorPort> monitors =
        Map.of(
            "arrivals", MirrorPort.direct(arrivalsTo).marked(ARRIVALS),
            "departures", MirrorPort.direct(9).marked(DEPARTURES),
            "plain", MirrorPort.direct(9));
    return MirrorFlows.of(TABLE, monitors, PORTS, 1);
  }

  @Test
  void eachSideOfAQueueHasItsMarkAndThePacketKeepsItsAddress() {
    FakeSwitch fake = with(flows(9).flows());
    assertThat(fake.sent(packet(1, FAR, "10.0.0.9", "10.0.0.2")))
        .containsExactly(new Sent(9, ARRIVALS), new Sent(2, FAR));
    assertThat(fake.sent(packet(3, NEAR, "10.0.0.9", "10.0.0.2")))
        .containsExactly(new Sent(9, DEPARTURES), new Sent(1, NEAR));
    // The packet departs from one queue and arrives at the next; another query needs it, too.
    assertThat(fake.sent(packet(3, FARTHER, "10.0.0.9", "10.0.0.1")))
        .containsExactly(
            new Sent(9, FARTHER),
            new Sent(9, ARRIVALS),
            new Sent(9, DEPARTURES),
            new Sent(2, FARTHER));
    assertThat(fake.sent(packet(1, NEAR, "10.0.0.9", "10.0.0.1")))
        .containsExactly(new Sent(9, NEAR));
    assertThat(fake.sent(packet(2, 0x30, "10.0.0.9", "10.0.0.2")))
        .containsExactly(new Sent(3, 0x30));
  }

  @Test
  void aHostsPacketsAreCopiedWithTheirPorts() {
    RuleTable table =
        RuleTable.of(
            List.of(
                new Wanted("q", "up", RuleMatch.ANY.through("1", "2")),
                new Wanted("q", "over", RuleMatch.ANY.through("1", "3"))),
            10);
    long up = CopyMark.ports(1, 2);
    long over = CopyMark.ports(1, 3);
    Map<String, MirrorPort> collector =
        Map.of("up", MirrorPort.direct(9).marked(up), "over", MirrorPort.direct(9).marked(over));
    FakeSwitch fake = with(MirrorFlows.of(table, collector, PORTS, 1).flows());
    assertThat(fake.sent(packet(1, FAR, "10.0.0.9", "10.0.0.2")))
        .containsExactly(new Sent(9, up), new Sent(2, FAR));
    assertThat(fake.sent(packet(1, 0x30, "10.0.0.9", "10.0.0.2")))
        .containsExactly(new Sent(9, over), new Sent(3, 0x30));
    assertThat(fake.sent(packet(3, FAR, "10.0.0.9", "10.0.0.2"))).containsExactly(new Sent(2, FAR));
    // A host can't forge a mark: a packet to a mark's address is neither forwarded nor copied.
    assertThat(fake.sent(packet(1, up, "10.0.0.9", "10.0.0.2"))).isEmpty();
    // Unlike a monitor's host, a collector sends no packets through the port of its copies.
    RuleTable leaving = RuleTable.of(List.of(new Wanted("q", "up", RuleMatch.leaving("2"))), 10);
    assertThat(MirrorFlows.of(leaving, collector, PORTS, 1).flows())
        .isNotEmpty()
        .allMatch(flow -> flow.match().inPort() == FlowMatch.ANY_PORT);
  }

  private static FakeSwitch.Packet segment(int family, int vlan, int tcpFlags) {
    IpPrefix source = IpPrefix.of(family == 4 ? "10.0.0.9" : "2001:db8::9");
    IpPrefix address = IpPrefix.of(family == 4 ? "10.0.0.2" : "2001:db8::2");
    RuleMatch.Header header = new RuleMatch.Header(source, address, 6, 5, 6, vlan, 0);
    return new FakeSwitch.Packet(
        1, FAR, family == 4 ? FlowMatch.IPV4 : FlowMatch.IPV6, header, tcpFlags);
  }

  private static final int FIN = 1;
  private static final int SYN = 2;
  private static final int RST = 4;
  private static final int ACK = 16;

  @Test
  void segmentsThatOpenOrEndConnectionsTakeTheirOwnQueue() {
    RuleTable table =
        RuleTable.of(List.of(new Wanted("q", "up", RuleMatch.ANY.through("1", "2"))), 10);
    long up = CopyMark.ports(1, 2);
    MirrorPort port = MirrorPort.direct(9).marked(up);
    List<Flow> shared = MirrorFlows.of(table, Map.of("up", port), PORTS, 1).flows();
    List<Flow> flows = MirrorFlows.of(table, Map.of("up", port.withQueue(7)), PORTS, 1).flows();
    assertThat(shared).noneMatch(flow -> flow.toString().contains("set_queue"));
    assertThat(flows).hasSize(3 * shared.size());
    FakeSwitch fake = with(flows);
    Sent first = new Sent(9, CopyMark.preferred(up), 7);
    for (int family : List.of(4, 6)) {
      for (int vlan : List.of(0, 5)) {
        for (int flags : List.of(SYN, SYN | ACK, FIN | ACK, RST, RST | ACK)) {
          assertThat(fake.sent(segment(family, vlan, flags)))
              .containsExactly(first, new Sent(2, FAR));
        }
        assertThat(fake.sent(segment(family, vlan, ACK)))
            .containsExactly(new Sent(9, up), new Sent(2, FAR));
      }
    }
    // Other protocols have no flags.
    assertThat(fake.sent(packet(1, FAR, "10.0.0.9", "10.0.0.2")))
        .containsExactly(new Sent(9, up), new Sent(2, FAR));
  }

  @Test
  void theQueueChangesNoOtherCopies() {
    RuleTable table =
        RuleTable.of(
            List.of(
                new Wanted("q", "up", RuleMatch.ANY.through("1", "2")),
                new Wanted("p", "plain", ofPort(6, 6)),
                new Wanted("p", "plain", ofPort(17, 6))),
            20);
    long up = CopyMark.ports(1, 2);
    MirrorPort collector = MirrorPort.direct(9).marked(up).withQueue(1);
    Map<String, MirrorPort> monitors = Map.of("up", collector, "plain", MirrorPort.direct(8));
    FakeSwitch fake = with(MirrorFlows.of(table, monitors, PORTS, 1).flows());
    assertThat(fake.sent(segment(4, 0, SYN)))
        .containsExactly(
            new Sent(8, FAR), new Sent(9, CopyMark.preferred(up), 1), new Sent(2, FAR));
    assertThat(fake.sent(segment(4, 0, ACK)))
        .containsExactly(new Sent(8, FAR), new Sent(9, up), new Sent(2, FAR));
    assertThat(fake.sent(packet(1, FAR, "10.0.0.9", "10.0.0.2")))
        .containsExactly(new Sent(8, FAR), new Sent(9, up), new Sent(2, FAR));
    // Copies marked for queues never use the separate queue, even if their port has one.
    MirrorPort queue = MirrorPort.direct(9).marked(ARRIVALS).withQueue(1);
    assertThat(MirrorFlows.of(TABLE, Map.of("arrivals", queue), PORTS, 1).flows())
        .isNotEmpty()
        .noneMatch(flow -> flow.toString().contains("set_queue"));
  }

  private static RuleMatch ofPort(int protocol, int port) {
    return new RuleMatch(
        IpPrefix.ANY, IpPrefix.ANY, protocol, PortMask.ANY, PortMask.of(port), 0, 0);
  }

  /** A switch sends a packet back through its input port only if an action names IN_PORT. */
  @Test
  void copiesMayReturnThroughTheirInputPort() {
    FakeSwitch fake = with(flows(3).flows());
    assertThat(fake.sent(packet(3, FAR, "10.0.0.9", "10.0.0.2")))
        .containsExactly(new Sent(3, ARRIVALS), new Sent(9, DEPARTURES), new Sent(2, FAR));
    assertThat(fake.sent(packet(1, FAR, "10.0.0.9", "10.0.0.2")))
        .containsExactly(new Sent(3, ARRIVALS), new Sent(2, FAR));
    RuleTable alone =
        RuleTable.of(List.of(new Wanted("q", "arrivals", RuleMatch.leaving("2"))), 10);
    Map<String, MirrorPort> back = Map.of("arrivals", MirrorPort.direct(3).marked(ARRIVALS));
    FakeSwitch returns = with(MirrorFlows.of(alone, back, PORTS, 1).flows());
    assertThat(returns.sent(packet(3, FAR, "10.0.0.9", "10.0.0.2")))
        .containsExactly(new Sent(3, ARRIVALS), new Sent(2, FAR));
    assertThat(returns.sent(packet(1, FAR, "10.0.0.9", "10.0.0.2")))
        .containsExactly(new Sent(3, ARRIVALS), new Sent(2, FAR));
  }

  @Test
  void copiesInTransitAreNotCopiedAgain() {
    List<Flow> flows = new ArrayList<>(flows(9).flows());
    flows.add(MirrorFlows.transit(MirrorPort.direct(2).marked(CopyMark.arrivals(7)), 1));
    FakeSwitch fake = with(flows);
    assertThat(fake.sent(packet(3, CopyMark.arrivals(7), "10.0.0.9", "10.0.0.1")))
        .containsExactly(new Sent(2, CopyMark.arrivals(7)));
  }

  @Test
  void aPortWithoutALinkIsReported() {
    RuleTable table = RuleTable.of(List.of(new Wanted("q", "m", RuleMatch.entering("lost"))), 10);
    MirrorFlows.Result result =
        MirrorFlows.of(table, Map.of("m", MirrorPort.direct(9).marked(ARRIVALS)), PORTS, 1);
    assertThat(result.flows()).isEmpty();
    assertThat(result.unknownPorts()).containsExactly("lost");
    assertThatThrownBy(() -> FlowMatch.of(RuleMatch.entering("3")))
        .isInstanceOf(IllegalArgumentException.class);
  }

  @Test
  void eachCopyOfAPacketCounts() {
    assertThat(MirrorCount.of("f", List.of("a", "b", "a"), 5, 1))
        .containsExactly(
            new MirrorCount("f", Set.of("a", "b"), 5, 1),
            new MirrorCount("f copy 1", Set.of("a"), 5, 1));
    assertThat(MirrorCount.of("f", List.of(), 5, 1))
        .containsExactly(new MirrorCount("f", Set.of(), 5, 1));
  }
}
