package io.tapline.sdn.topology;

import static org.assertj.core.api.Assertions.assertThat;

import io.tapline.sdn.topology.HostTable.Answer;
import io.tapline.sdn.topology.HostTable.Verdict;
import java.util.HashMap;
import java.util.Map;
import java.util.Set;
import org.junit.jupiter.api.Test;

/** Tests spoofed claims against hosts that answer only for their own addresses. */
class HostTableTest {
  private static final long SECOND = 1_000_000_000L;
  private static final long ALICE = 0x02_0000_000aL;
  private static final long BOB = 0x02_0000_000bL;
  private static final long MALLORY = 0x02_0000_000eL;
  private static final SwitchPort A1 = new SwitchPort(1, 1);
  private static final SwitchPort A2 = new SwitchPort(1, 2);
  private static final SwitchPort B1 = new SwitchPort(2, 1);
  private static final int IP = 0x0a000001;

  private HostTable hosts = new HostTable(Map.of());

  /** The hosts' real locations and addresses. */
  private final Map<Long, Host> honest = new HashMap<>();

  private long nowNs = SECOND;

  private void expectHost(long mac, int ip, SwitchPort port) {
    honest.put(mac, new Host(mac, port, Set.of(ip), 0));
  }

  /**
   * Claims an address. A host that is probed at its location for its own address answers
   * immediately.
   */
  private Verdict says(long mac, int ip, SwitchPort port) {
    nowNs += SECOND / 100;
    Answer response = hosts.claim(mac, ip, port, nowNs);
    for (HostTable.Question question : response.questions()) {
      Host owner = honest.get(question.host().mac());
      if (owner != null
          && owner.at().equals(question.host().at())
          && owner.ips().contains(question.ip())) {
        nowNs += SECOND / 100;
        hosts.claim(owner.mac(), question.ip(), owner.at(), nowNs);
      }
    }
    return response.verdict();
  }

  private void learned(long mac, int ip, SwitchPort port) {
    expectHost(mac, ip, port);
    assertThat(says(mac, ip, port)).isEqualTo(Verdict.LEARNED);
  }

  private SwitchPort place(long mac) {
    return hosts.byMac(mac).orElseThrow().at();
  }

  /** Repeats the claim for a long time, without success. */
  private void insists(long mac, int ip, SwitchPort port) {
    for (int i = 0; i < 200; i++) {
      nowNs += SECOND / 10;
      assertThat(says(mac, ip, port)).isNotEqualTo(Verdict.LEARNED);
    }
  }

  @Test
  void anotherHostsEthernetAddressIsRejectedWithAnUnusedIpAddress() {
    learned(ALICE, IP, A1);
    insists(ALICE, IP + 50, B1);
    assertThat(place(ALICE)).isEqualTo(A1);
    assertThat(hosts.byIp(IP + 50)).isEmpty();
  }

  /** After a restart, switches' flows only reveal Ethernet addresses. */
  @Test
  void anotherHostsEthernetAddressIsRejectedAfterARestart() {
    hosts = new HostTable(Map.of(IP, A1.datapath()));
    hosts.recover(ALICE, A1);
    expectHost(ALICE, IP, A1);
    insists(ALICE, IP + 50, B1);
    assertThat(place(ALICE)).isEqualTo(A1);
  }

  @Test
  void aConfiguredAddressIsAcceptedOnlyUnderItsSwitch() {
    hosts = new HostTable(Map.of(IP, A1.datapath()));
    assertThat(says(MALLORY, IP, B1)).isEqualTo(Verdict.SPOOFED);
    assertThat(hosts.byIp(IP)).isEmpty();
    learned(ALICE, IP, A1);
  }

  @Test
  void theAddressesOfAHostAreBounded() {
    for (int i = 0; i < HostTable.MAX_ADDRESSES; i++) {
      assertThat(says(ALICE, IP + i, A1)).isEqualTo(Verdict.LEARNED);
    }
    assertThat(says(ALICE, IP + HostTable.MAX_ADDRESSES, A1)).isEqualTo(Verdict.TOO_MANY);
  }

  @Test
  void anotherHostsEthernetAddressIsRejectedWithTheAttackersIpAddress() {
    learned(ALICE, IP, A1);
    learned(MALLORY, IP + 1, B1);
    honest.remove(MALLORY);
    insists(ALICE, IP + 1, B1);
    assertThat(place(ALICE)).isEqualTo(A1);
  }

  @Test
  void anotherHostsEthernetAddressIsRejectedWithAThirdHostsIpAddress() {
    learned(ALICE, IP, A1);
    learned(BOB, IP + 1, A2);
    insists(ALICE, IP + 1, B1);
    honest.remove(BOB);
    insists(ALICE, IP + 1, B1);
    assertThat(place(ALICE)).isEqualTo(A1);
  }

  @Test
  void aMovedHostIsFoundDespiteForgedClaims() {
    learned(ALICE, IP, A1);
    learned(BOB, IP + 1, A1);
    for (int i = 0; i < 5000; i++) {
      Verdict verdict = says(ALICE, IP + 100 + i, A2);
      assertThat(verdict).isIn(Verdict.PROBE, Verdict.TOO_MANY);
      nowNs -= SECOND / 100;
    }
    expectHost(BOB, IP + 1, B1);
    assertThat(says(BOB, IP + 1, B1)).isEqualTo(Verdict.PROBE);
    assertThat(says(MALLORY, IP + 1, A2)).as("its port is full").isEqualTo(Verdict.TOO_MANY);
    nowNs += HostTable.RESPONSE_NS;
    assertThat(says(BOB, IP + 1, B1)).isEqualTo(Verdict.LEARNED);
    assertThat(place(BOB)).isEqualTo(B1);
    nowNs += 20 * SECOND;
    expectHost(BOB, IP + 1, A2);
    assertThat(says(BOB, IP + 1, A2)).as("false claims are forgotten").isEqualTo(Verdict.PROBE);
    nowNs += HostTable.RESPONSE_NS;
    assertThat(says(BOB, IP + 1, A2)).isEqualTo(Verdict.LEARNED);
  }

  @Test
  void aForgedClaimDoesNotDelayAMovedHost() {
    learned(ALICE, IP, A1);
    honest.remove(ALICE);
    assertThat(says(MALLORY, IP, A2)).isEqualTo(Verdict.PROBE);
    expectHost(ALICE, IP, B1);
    assertThat(says(ALICE, IP, B1)).isEqualTo(Verdict.PROBE);
    nowNs += HostTable.RESPONSE_NS;
    assertThat(says(ALICE, IP, B1)).isEqualTo(Verdict.LEARNED);
    insists(MALLORY, IP, A2);
    assertThat(hosts.byIp(IP).orElseThrow().at()).isEqualTo(B1);
  }

  @Test
  void aFullSwitchLeavesRoomForHostsOfOthers() {
    int refused = 0;
    for (int i = 0; i < 100_000; i++) {
      refused +=
          says(0x02_00ff_0000L + i, IP + 1 + i, new SwitchPort(7, i)) == Verdict.LEARNED ? 0 : 1;
    }
    assertThat(hosts.hosts()).hasSize(4096);
    assertThat(refused).isEqualTo(100_000 - 4096);
    learned(ALICE, IP, A1);
  }
}
