package io.tapline.control.accounting;

import static org.assertj.core.api.Assertions.assertThat;

import io.tapline.sdn.mirror.MirrorCount;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.Random;
import java.util.Set;
import org.junit.jupiter.api.Test;

class CopyBalanceTest {
  private static final long MS = 1_000_000L;
  private static final long BEGIN_NS = 5_000_000_000_000L;

  private final CopyBalance balance = new CopyBalance();
  private long nowNs = BEGIN_NS;

  private void later(long ms) {
    nowNs += ms * MS;
  }

  private void copied(long... packets) {
    List<MirrorCount> counts = new ArrayList<>();
    for (int i = 0; i < packets.length; i++) {
      counts.add(new MirrorCount("flow " + i, Set.of("h"), packets[i], nowNs));
    }
    balance.copied(counts);
  }

  private void received(long packets) {
    balance.received(1, packets, nowNs);
  }

  /** Evaluates unchanged counters for a while, so that a loss is reported. */
  private void rest(long copied, long received) {
    rest(6, copied, received);
  }

  private void rest(int seconds, long copied, long received) {
    for (int i = 0; i < seconds; i++) {
      later(1000);
      copied(copied);
      received(received);
    }
  }

  @Test
  void onlyMissingPacketsAreLost() {
    received(0);
    rest(0, 0);
    rest(500, 500);
    assertThat(balance.lost()).isZero();
    rest(700, 577);
    assertThat(balance.lost()).isEqualTo(123);
    rest(900, 777);
    assertThat(balance.lost()).isEqualTo(123);
    rest(901, 777);
    assertThat(balance.lost()).isEqualTo(124);
  }

  @Test
  void copiesOfARemovedFlowStillCount() {
    received(0);
    for (int i = 0; i < 6; i++) {
      later(1000);
      copied(0, 0);
      received(0);
    }
    later(1000);
    copied(100, 100);
    received(150);
    rest(100, 150);
    assertThat(balance.lost()).isEqualTo(50);
  }

  @Test
  void packetsInFlightAreNotLost() {
    received(0);
    rest(0, 0);
    copied(100);
    later(1900);
    received(0);
    later(50);
    received(100);
    rest(100, 100);
    assertThat(balance.lost()).isZero();
  }

  @Test
  void packetsMayHaveReachedASilentMonitor() {
    received(0);
    rest(0, 0);
    for (int i = 0; i < 30; i++) {
      later(1000);
      copied(10L * i);
    }
    assertThat(balance.lost()).isZero();
    received(290);
    rest(290, 290);
    assertThat(balance.lost()).isZero();
  }

  /**
   * Tests the counter of a new flow, in which Open vSwitch includes packets that passed before the
   * flow was installed.
   */
  @Test
  void packetsOfANewFlowThatASwitchDidNotCopyAreNotLost() {
    received(0);
    later(20);
    copied(40);
    rest(40, 0);
    assertThat(balance.lost()).isZero();
    rest(140, 90);
    assertThat(balance.lost()).isEqualTo(10);
  }

  @Test
  void earlyArrivalsHideNoLossAfterAPauseOfTraffic() {
    for (int i = 0; i < 5; i++) {
      received(240L * i);
      copied(240L * i);
      later(1000);
    }
    rest(14, 1200, 1200);
    rest(1400, 1400);
    assertThat(balance.lost()).isZero();
    rest(1600, 1450);
    assertThat(balance.lost()).isEqualTo(150);
  }

  /**
   * Tests an ARP packet, which the interface counts immediately, before the monitor has seen and
   * excluded it.
   */
  @Test
  void packetsCountedTooEarlyThatAreNotCopiesAreNotLost() {
    received(0);
    copied(0);
    later(1000);
    received(1);
    copied(0);
    rest(0, 0);
    rest(150, 150);
    rest(350, 150);
    assertThat(balance.lost()).isEqualTo(200);
  }

  /** Tests a slow switch, which counts its last packets long after both sides have become idle. */
  @Test
  void packetsThatASwitchCountsLateAreNotLost() {
    received(0);
    rest(0, 0);
    rest(9, 149, 150);
    rest(14, 150, 150);
    assertThat(balance.lost()).isZero();
    rest(350, 150);
    rest(400, 200);
    assertThat(balance.lost()).isEqualTo(200);
  }

  @Test
  void aRestartedSwitchOrARemovedFlowDoesNotReduceTheLoss() {
    received(0);
    copied(0, 0);
    later(4000);
    copied(0, 0);
    later(1000);
    copied(100, 1000);
    later(1000);
    copied(3, 1000);
    received(1050);
    rest(3, 1050);
    assertThat(balance.lost()).isEqualTo(50);
    rest(13, 1060);
    assertThat(balance.lost()).isEqualTo(50);
  }

  @Test
  void aRestartedMonitorStartsWithoutLosses() {
    received(0);
    rest(0, 0);
    rest(100, 60);
    assertThat(balance.lost()).isEqualTo(40);
    for (int i = 0; i < 8; i++) {
      later(1000);
      copied(200);
      balance.received(2, 0, nowNs);
    }
    assertThat(balance.lost()).isZero();
    later(1000);
    copied(210);
    for (int i = 0; i < 8; i++) {
      later(1000);
      copied(210);
      balance.received(2, 5, nowNs);
    }
    assertThat(balance.lost()).isEqualTo(5);
  }

  @Test
  void theNextQueryStartsAtZeroAfterTheLastFlowIsRemoved() {
    received(0);
    rest(0, 0);
    rest(100, 60);
    balance.copied(List.of());
    received(60);
    rest(70, 85);
    rest(170, 135);
    assertThat(balance.lost()).isEqualTo(40 + 50);
  }

  @Test
  void settlesWhenAllCopiesArrivedOrTimedOut() {
    assertThat(balance.isSettled(nowNs, 0)).as("nothing is known").isTrue();
    received(0);
    rest(0, 0);
    later(1);
    long requestedNs = nowNs;
    copied(10);
    assertThat(balance.isSettled(requestedNs, 0)).isFalse();
    later(100);
    received(10);
    assertThat(balance.isSettled(requestedNs, 0)).isTrue();

    later(1);
    requestedNs = nowNs;
    copied(20);
    for (int i = 0; i < 10 && !balance.isSettled(requestedNs, 0); i++) {
      later(500);
      copied(20);
      received(13);
    }
    assertThat(balance.lost()).isEqualTo(7);
    assertThat(balance.isSettled(requestedNs, 0)).isTrue();
    assertThat(nowNs - requestedNs).isBetween(3_000 * MS, 5_000 * MS);
  }

  /**
   * Tests delayed counters, slow packets, pauses in the traffic, and an interruption that loses all
   * copies.
   */
  @Test
  void reportedLossesNeverExceedRealOnesAndAreCompleteOnceTrafficPauses() {
    for (int seed = 0; seed < 300; seed++) {
      new Run(seed).execute();
    }
  }

  private static final class Run {
    private static final int STEP_MS = 50;
    private static final int END_MS = 60_000;

    private record Copy(long atMs, long comesMs) {}

    private final int seed;
    private final Random random;
    private final int quietMs;
    private final int maxLagMs;
    private final CopyBalance balance = new CopyBalance();
    private final Deque<Copy> onTheirWay = new ArrayDeque<>();
    private final Deque<Long> uncounted = new ArrayDeque<>();
    private long counted;
    private long arrived;
    private long lost;

    Run(int seed) {
      this.seed = seed;
      this.random = new Random(seed);
      // Without packets at the beginning, a late counter can't add packets to the flow's base.
      this.quietMs = random.nextBoolean() ? 14_000 : 0;
      this.maxLagMs = quietMs > 0 ? 5_000 : 900;
    }

    void execute() {
      int cutFromMs = 10_000 + random.nextInt(20_000);
      int cutMs = random.nextInt(3) * 4_000;
      boolean mayBeMasked = quietMs == 0;
      counted = mayBeMasked ? random.nextInt(100) : 0;
      for (int ms = 0; ms < END_MS; ms += STEP_MS) {
        boolean isCut = ms >= cutFromMs && ms < cutFromMs + cutMs;
        boolean busy = ms >= quietMs && ms < END_MS - 15_000 && ms / 7_000 % 3 != 2;
        traffic(ms, busy ? random.nextInt(20) : 0, isCut);
        report(ms);
        assertThat(balance.lost()).as("seed %d at %d ms", seed, ms).isLessThanOrEqualTo(lost);
      }
      if (!mayBeMasked || cutMs == 0) {
        assertThat(balance.lost()).as("seed %d", seed).isEqualTo(lost);
      }
    }

    private void traffic(int ms, int packets, boolean isCut) {
      for (int i = 0; i < packets; i++) {
        uncounted.add((long) ms + random.nextInt(maxLagMs));
        if (isCut) {
          lost++;
        } else {
          onTheirWay.add(new Copy(ms, ms + random.nextInt(1_500)));
        }
      }
      onTheirWay.removeIf(copy -> copy.comesMs() <= ms && ++arrived > 0);
      uncounted.removeIf(countedMs -> countedMs <= ms && ++counted > 0);
    }

    private void report(int ms) {
      long nowNs = BEGIN_NS + ms * MS;
      if (random.nextInt(15) == 0) {
        balance.copied(List.of(new MirrorCount("f", Set.of("h"), counted, nowNs)));
      }
      if (random.nextInt(10) == 0) {
        balance.received(1, arrived, nowNs);
      }
    }
  }
}
