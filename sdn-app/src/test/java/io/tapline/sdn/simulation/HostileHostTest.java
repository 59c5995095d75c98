package io.tapline.sdn.simulation;

import static org.assertj.core.api.Assertions.assertThat;

import io.tapline.sdn.controller.Await;
import io.tapline.sdn.switches.Counter;
import io.tapline.sdn.topology.Arp;
import io.tapline.sdn.topology.Lldp;
import io.tapline.sdn.topology.SwitchPort;
import java.io.IOException;
import java.util.Set;
import java.util.TreeSet;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Tests misbehaving hosts behind a well-behaved switch. */
class HostileHostTest extends GoodSwitchTestCase {
  private static final int MALLORY = 0x0a0000ee;
  private static final int UNUSED_ADDRESS = 0x0a000077;

  private RawSwitch bad;

  @BeforeEach
  void startBad() throws IOException {
    bad = RawSwitch.answering(controller.port(), 2);
    Await.until(
        () -> {
          says(1, announcement(MALLORY));
          return place(MALLORY).equals("bad:1");
        });
  }

  @AfterEach
  void stopBad() throws IOException {
    bad.close();
  }

  private void says(int port, byte[] frame) throws IOException {
    bad.send(SimulatedSwitch.packetIn(port, frame));
  }

  @Test
  void aFloodOfPacketInsIsDroppedOnArrival() throws IOException {
    for (int i = 0; i < 5000; i++) {
      says(1 + i % 6, announcement(0x0b000000 + i));
    }
    awaitCount(Counter.PACKET_INS_DROPPED, 1000);
    goodHost(3, 0x0a000003);
    assertThat(controller.status().hosts()).as("some claims were accepted").hasSizeGreaterThan(10);
    assertThat(controller.status().hosts()).hasSizeLessThanOrEqualTo(4 * 64 + 2);
  }

  /**
   * Sends ARP with another host's IPv4 or Ethernet address, forged LLDP, and replayed genuine LLDP.
   */
  @Test
  void spoofedArpAndLldpAreCountedAndIgnored() throws Exception {
    byte[] forged = new Lldp(new byte[] {1}).frame(new SwitchPort(1, 1), System.nanoTime());
    Set<Counter> wantedCounters =
        new TreeSet<>(Set.of(Counter.ARP_SPOOFED, Counter.LLDP_FORGED, Counter.LLDP_CONFLICTS));
    Await.until(
        () -> {
          for (int i = 0; i < 50; i++) {
            says(1, Arp.request(mac(MALLORY), ADDRESS, ADDRESS).frame());
            says(1, Arp.request(mac(ADDRESS), UNUSED_ADDRESS, UNUSED_ADDRESS).frame());
            says(1, forged);
            hostAnswersAndLldpIsCarried();
            assertThat(place(ADDRESS)).isEqualTo("good:1");
            assertThat(place(UNUSED_ADDRESS)).isEmpty();
            assertThat(controller.status().links()).isZero();
            Thread.sleep(40);
          }
          wantedCounters.removeIf(counter -> controller.counters().get(counter) > 0);
          return wantedCounters.isEmpty();
        });
    assertThat(controller.route(1, mac(ADDRESS))).containsExactly(new SwitchPort(1, 1));
  }

  private void hostAnswersAndLldpIsCarried() throws IOException {
    for (SimulatedSwitches.SentFrame sent : good.takeSent()) {
      Arp arp = Arp.read(sent.frame()).orElse(null);
      if (sent.port() == 1 && arp == null) {
        says(1, sent.frame());
      } else if (sent.port() == 1 && arp.targetIp() == ADDRESS) {
        good.receive(0, 1, arp.answeredBy(mac(ADDRESS)).frame());
      }
    }
  }
}
