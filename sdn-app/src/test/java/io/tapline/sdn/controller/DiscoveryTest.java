package io.tapline.sdn.controller;

import static org.assertj.core.api.Assertions.assertThat;

import io.tapline.sdn.flow.Mac;
import io.tapline.sdn.flow.SwitchMessage.PacketOut;
import io.tapline.sdn.switches.Counter;
import io.tapline.sdn.switches.Counters;
import io.tapline.sdn.topology.Arp;
import io.tapline.sdn.topology.HostTable;
import io.tapline.sdn.topology.LinkTable;
import io.tapline.sdn.topology.Lldp;
import io.tapline.sdn.topology.SwitchPort;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

/**
 * Tests the messages that are sent in response to frames. Two switches have two hosts each at ports
 * 1 and 2, and a link at port 3.
 */
class DiscoveryTest {
  private static final long SECOND = 1_000_000_000L;
  private static final long ALICE = 0x02_0000_000aL;
  private static final long BOB = 0x02_0000_000bL;
  private static final long MALLORY = 0x02_0000_000eL;
  private static final SwitchPort A1 = new SwitchPort(1, 1);
  private static final SwitchPort A2 = new SwitchPort(1, 2);
  private static final SwitchPort B1 = new SwitchPort(2, 1);
  private static final SwitchPort LINK_A = new SwitchPort(1, 3);
  private static final SwitchPort LINK_B = new SwitchPort(2, 3);
  private static final int IP = 0x0a000001;

  private final Counters counters = new Counters();
  private final LinkTable links = new LinkTable();
  private final HostTable hosts = new HostTable(Map.of(0x0a0000ff, 2L));
  private final Lldp lldp = new Lldp(new byte[] {7});
  private final Discovery discovery =
      new Discovery(lldp, links, hosts, new TwoSwitches(), counters, 0);
  private long nowNs = SECOND;

  private static final class TwoSwitches implements Ports {
    @Override
    public boolean isEdge(SwitchPort port) {
      return port.port() < 3;
    }

    @Override
    public Collection<SwitchPort> edges() {
      return List.of(A1, A2, B1, new SwitchPort(2, 2));
    }

    @Override
    public int switches() {
      return 2;
    }
  }

  private Discovery.Result arp(SwitchPort port, Arp arp) {
    return discovery.packetIn(port, arp.frame(), nowNs);
  }

  private Discovery.Result says(SwitchPort port, long mac, int ip) {
    return arp(port, Arp.request(mac, ip, ip));
  }

  private static Arp arpOf(Order order) {
    return Arp.read(((PacketOut) order.message()).frame()).orElseThrow();
  }

  @Test
  void aLinkCountsOnceBothEndsAreSeen() {
    byte[] fromA = lldp.frame(LINK_A, nowNs);
    assertThat(discovery.packetIn(LINK_B, fromA, nowNs).changed()).isTrue();
    assertThat(links.links()).isEmpty();
    discovery.packetIn(LINK_A, lldp.frame(LINK_B, nowNs), nowNs);
    assertThat(links.links()).hasSize(2);
    assertThat(discovery.packetIn(LINK_B, fromA, nowNs).changed()).isFalse();
    assertThat(links.expire(nowNs + LinkTable.SILENCE_NS, java.util.Set.of())).isFalse();
    assertThat(links.expire(nowNs + LinkTable.SILENCE_NS + 1, java.util.Set.of(2L))).isFalse();
    assertThat(links.expire(nowNs + LinkTable.SILENCE_NS + 1, java.util.Set.of())).isTrue();
    assertThat(links.links()).isEmpty();
  }

  @Test
  void forgedReplayedAndRelayedLldpMakesNoLink() {
    byte[] forged = new Lldp(new byte[] {8}).frame(LINK_A, nowNs);
    assertThat(discovery.packetIn(LINK_B, forged, nowNs).changed()).isFalse();
    assertThat(counters.get(Counter.LLDP_FORGED)).isEqualTo(1);

    byte[] kept = lldp.frame(LINK_A, nowNs);
    discovery.packetIn(LINK_B, kept, nowNs + 20 * SECOND);
    assertThat(counters.get(Counter.LLDP_STALE)).isEqualTo(1);

    discovery.packetIn(LINK_B, kept, nowNs);
    discovery.packetIn(LINK_A, lldp.frame(LINK_B, nowNs), nowNs);
    discovery.packetIn(A2, lldp.frame(LINK_B, nowNs), nowNs);
    assertThat(counters.get(Counter.LLDP_CONFLICTS)).isEqualTo(1);

    says(A1, ALICE, IP);
    discovery.packetIn(A1, lldp.frame(B1, nowNs), nowNs);
    assertThat(counters.get(Counter.LLDP_CONFLICTS)).isEqualTo(2);
    assertThat(links.links()).hasSize(2);
  }

  /** A host may be learned at a link's port if the port came up before the link was discovered. */
  @Test
  void aHostAtALinkIsRemovedUnlessItAnswers() {
    hosts.claim(ALICE, IP, LINK_B, nowNs);
    byte[] fromA = lldp.frame(LINK_A, nowNs);
    Discovery.Result first = discovery.packetIn(LINK_B, fromA, nowNs);
    assertThat(first.orders()).hasSize(1);
    assertThat(first.orders().get(0).datapath()).isEqualTo(2);
    assertThat(((PacketOut) first.orders().get(0).message()).ports()).containsExactly(3);
    Arp question = arpOf(first.orders().get(0));
    assertThat(question.targetIp()).isEqualTo(IP);
    assertThat(discovery.packetIn(LINK_B, fromA, nowNs).orders()).as("asked once").isEmpty();
    assertThat(arp(A1, question).orders())
        .as("the controller ignores its own ARP request")
        .isEmpty();

    nowNs += SECOND + 1;
    assertThat(discovery.packetIn(LINK_B, fromA, nowNs).changed()).isTrue();
    assertThat(hosts.hosts()).isEmpty();
    discovery.packetIn(LINK_B, fromA, nowNs);
    discovery.packetIn(LINK_A, lldp.frame(LINK_B, nowNs), nowNs);
    assertThat(links.links()).hasSize(2);
  }

  /** After a restart, the inventory is the only source of the host's address. */
  @Test
  void aHostRecoveredFromFlowsIsProbedWithTheInventorysAddress() {
    int pinned = 0x0a0000ff;
    hosts.recover(BOB, B1);
    byte[] relayed = lldp.frame(LINK_A, nowNs);
    Discovery.Result first = discovery.packetIn(B1, relayed, nowNs);
    assertThat(first.orders()).hasSize(1);
    assertThat(arpOf(first.orders().get(0)).targetIp()).isEqualTo(pinned);

    nowNs += SECOND / 10;
    arp(B1, arpOf(first.orders().get(0)).answeredBy(BOB));
    nowNs += SECOND;
    assertThat(discovery.packetIn(B1, relayed, nowNs).changed()).isFalse();
    assertThat(hosts.byIp(pinned).orElseThrow().at()).isEqualTo(B1);
  }

  /** The table keeps addresses that the host no longer uses. */
  @Test
  void aDoubtedHostIsProbedWithAllItsAddresses() {
    for (int ip = IP; ip < IP + 3; ip++) {
      says(A1, ALICE, ip);
    }
    List<Order> probes = discovery.packetIn(A1, lldp.frame(LINK_B, nowNs), nowNs).orders();
    assertThat(probes)
        .extracting(order -> arpOf(order).targetIp())
        .containsExactly(IP, IP + 1, IP + 2);
  }

  @Test
  void aHostThatAnswersKeepsItsPort() {
    says(A1, ALICE, IP);
    for (int i = 0; i < 100; i++) {
      byte[] carried = lldp.frame(B1, nowNs);
      discovery.packetIn(A1, carried, nowNs).orders().forEach(order -> says(A1, ALICE, IP));
      nowNs += SECOND / 4;
      says(A1, ALICE, IP);
      assertThat(hosts.byIp(IP).orElseThrow().at()).isEqualTo(A1);
    }
    assertThat(links.links()).isEmpty();
  }

  @Test
  void knownHostsAreAnsweredByProxyAndUnknownOnesRequestedAtTheEdge() {
    assertThat(says(A1, ALICE, IP).changed()).isTrue();
    Arp request = Arp.request(BOB, IP + 1, IP);
    Discovery.Result result = arp(B1, request);
    assertThat(result.orders()).hasSize(1);
    assertThat(result.orders().get(0).datapath()).isEqualTo(2);
    assertThat(((PacketOut) result.orders().get(0).message()).ports()).containsExactly(1);
    assertThat(arpOf(result.orders().get(0))).isEqualTo(request.answeredBy(ALICE));

    Discovery.Result flooded = arp(B1, Arp.request(BOB, IP + 1, IP + 7));
    assertThat(flooded.orders()).hasSize(2);
    assertThat(((PacketOut) flooded.orders().get(0).message()).ports()).containsExactly(1, 2);
    assertThat(((PacketOut) flooded.orders().get(1).message()).ports()).containsExactly(2);
    assertThat(arp(B1, Arp.request(BOB, IP + 1, IP + 7)).orders()).isEmpty();
    assertThat(counters.get(Counter.ARP_FLOODS_DROPPED)).isEqualTo(1);

    Arp reply = Arp.request(ALICE, IP + 1, IP).answeredBy(BOB);
    hosts.claim(BOB, IP, new SwitchPort(9, 9), nowNs);
    assertThat(arp(LINK_A, reply).orders()).isEmpty();
  }

  @Test
  void aClaimedAddressIsRejectedWhileItsHostAnswers() {
    says(A1, ALICE, IP);
    Discovery.Result first = says(B1, MALLORY, IP);
    assertThat(first.changed()).isFalse();
    assertThat(first.orders()).hasSize(1);
    assertThat(first.orders().get(0).datapath()).isEqualTo(1);
    assertThat(arpOf(first.orders().get(0)).targetIp()).isEqualTo(IP);

    nowNs += SECOND / 10;
    says(A1, ALICE, IP);
    assertThat(counters.get(Counter.ARP_SPOOFED)).isEqualTo(1);
    for (int i = 0; i < 50; i++) {
      nowNs += SECOND / 5;
      for (Order order : says(B1, MALLORY, IP).orders()) {
        assertThat(order.datapath()).isEqualTo(1);
        says(A1, ALICE, IP);
      }
      assertThat(hosts.byIp(IP).orElseThrow().mac()).isEqualTo(ALICE);
    }
  }

  @Test
  void aMovedHostIsFoundAtItsNewPort() {
    says(A1, ALICE, IP);
    says(B1, ALICE, IP);
    assertThat(hosts.byIp(IP).orElseThrow().at()).isEqualTo(A1);
    nowNs += 2 * SECOND;
    assertThat(says(B1, ALICE, IP).changed()).isTrue();
    assertThat(hosts.byIp(IP).orElseThrow().at()).isEqualTo(B1);
    assertThat(hosts.hosts()).hasSize(1);
  }

  @Test
  void configuredAddressesAreAcceptedOnlyUnderTheirSwitch() {
    says(A1, MALLORY, 0x0a0000ff);
    assertThat(counters.get(Counter.ARP_SPOOFED)).isEqualTo(1);
    assertThat(hosts.hosts()).isEmpty();
    says(B1, BOB, 0x0a0000ff);
    assertThat(hosts.byIp(0x0a0000ff).orElseThrow().at()).isEqualTo(B1);
  }

  @Test
  void senderAndFrameMustAgreeAndGroupAddressesAreNotHosts() {
    Arp lie = new Arp(MALLORY, Arp.REQUEST, ALICE, IP, 0, IP);
    assertThat(discovery.packetIn(A1, lie.frame(), nowNs).changed()).isFalse();
    says(A1, Mac.BROADCAST, IP);
    assertThat(counters.get(Counter.ARP_SPOOFED)).isEqualTo(2);
    assertThat(hosts.hosts()).isEmpty();
  }

  @Test
  void theNumberOfHostsPerPortAndInTotalIsBounded() {
    for (int i = 0; i < 100_000; i++) {
      says(A1, 0x02_0000_0000L + i, IP + i);
    }
    assertThat(hosts.hosts()).hasSize(64);
    long pinnedToOtherPort = counters.get(Counter.ARP_SPOOFED);
    assertThat(pinnedToOtherPort).isEqualTo(1);
    assertThat(counters.get(Counter.HOSTS_REFUSED)).isEqualTo(100_000 - 64 - pinnedToOtherPort);
    long firstAddress = 0x02_00ff_0000L;
    for (int i = 0; i < 1000; i++) {
      says(A2, firstAddress, IP + 200_000 + i);
    }
    assertThat(hosts.byMac(firstAddress).orElseThrow().ips()).hasSize(16);
    assertThat(says(B1, firstAddress + 1, IP + 300_000).changed()).isTrue();
  }
}
