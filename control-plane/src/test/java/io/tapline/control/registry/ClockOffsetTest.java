package io.tapline.control.registry;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;

class ClockOffsetTest {
  @Test
  void theTrueOffsetIsWithinTheError() {
    Random random = new Random(1);
    for (int run = 0; run < 200; run++) {
      long truth = random.nextLong(-10_000_000_000L, 10_000_000_000L);
      ClockOffset clock = new ClockOffset();
      long now = 1_800_000_000_000_000_000L;
      for (int exchange = 0; exchange < 30; exchange++) {
        long forwardNs = random.nextLong(1, 50_000_000);
        long thinking = random.nextLong(1, 5_000_000);
        long back = random.nextLong(1, 50_000_000);
        clock.add(
            now,
            now + forwardNs + truth,
            now + forwardNs + thinking + truth,
            now + forwardNs + thinking + back);
        now += 500_000_000;
        ClockOffset.Estimate best = clock.best();
        assertThat(Math.abs(best.offsetNs() - truth)).isLessThanOrEqualTo(best.errorNs());
      }
    }
  }

  @Test
  void aClockSetDuringAnExchangeGivesNoOffset() {
    ClockOffset clock = new ClockOffset();
    clock.add(1_000, 5_000, 9_000, 2_000);
    clock.add(2_000, 5_000, 5_000, 1_000);
    assertThat(clock.best()).isNull();
  }

  @Test
  void aClockChangeIsDetectedByTheNextExchange() {
    ClockOffset clock = new ClockOffset();
    long ms = 1_000_000;
    clock.add(0, 400 * ms + 10, 400 * ms + 10, 20);
    clock.add(500 * ms, 502 * ms, 502 * ms, 504 * ms);
    assertThat(clock.best()).isEqualTo(new ClockOffset.Estimate(0, 2 * ms + 1));
    clock.add(1_000 * ms, 1_001 * ms, 1_001 * ms, 1_010 * ms);
    assertThat(clock.best().errorNs()).isEqualTo(2 * ms + 1);
  }

  @Test
  void clocksDifferOnlyBeyondTheirErrors() {
    ClockOffset.Estimate behind = new ClockOffset.Estimate(-300, 20);
    ClockOffset.Estimate ahead = new ClockOffset.Estimate(400, 30);
    ClockOffset.Estimate anywhere = new ClockOffset.Estimate(0, 1_000);
    assertThat(ClockOffset.differenceNs(List.of())).isZero();
    assertThat(ClockOffset.differenceNs(List.of(ahead))).isZero();
    assertThat(ClockOffset.differenceNs(List.of(ahead, anywhere))).isZero();
    assertThat(ClockOffset.differenceNs(List.of(ahead, anywhere, behind))).isEqualTo(650);
  }
}
