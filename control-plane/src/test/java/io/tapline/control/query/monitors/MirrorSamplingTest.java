package io.tapline.control.query.monitors;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.Random;
import org.junit.jupiter.api.Test;

class MirrorSamplingTest {
  private static final long SECOND_NS = 1_000_000_000L;

  /** The number of sampling zeros last sent to the switches. */
  private int reportedZeros;

  /** Maximum number of zeros that any switch may still use. */
  private int max;

  private boolean there = true;
  private boolean willing = true;
  private double kept = 1;
  private long nowNs = SECOND_NS;
  private final MirrorSampling narrowing = new MirrorSampling(this::narrow, this::mirrored, false);

  private boolean narrow(int zeros) {
    if (willing) {
      assertThat(kept)
          .as("packets that monitors keep are copied")
          .isLessThanOrEqualTo(copied(zeros));
      reportedZeros = zeros;
      max = Math.max(max, zeros);
    }
    return willing;
  }

  private boolean mirrored() {
    max = there ? reportedZeros : max;
    return there;
  }

  private static double copied(int zeros) {
    return 1.0 / (1 << zeros);
  }

  /** Simulates a second in which monitors receive their new rate. */
  private double look(double wanted) {
    double rate = narrowing.next(wanted, kept, nowNs);
    nowNs += SECOND_NS;
    kept = rate;
    return rate;
  }

  private void looks(int seconds, double wanted) {
    for (int i = 0; i < seconds; i++) {
      look(wanted);
    }
  }

  @Test
  void switchesFollowALowRateAndWidenBeforeItGrows() {
    looks(3, 0.2);
    assertThat(reportedZeros).as("for a short time").isZero();
    looks(20, 0.2);
    assertThat(reportedZeros).isEqualTo(2);
    there = false;
    assertThat(look(1)).as("while switches copy a quarter").isEqualTo(0.25);
    assertThat(reportedZeros).isZero();
    assertThat(look(1)).isEqualTo(0.25);
    there = true;
    assertThat(look(1)).isEqualTo(1);
  }

  @Test
  void earlierRulesAreAssumedUntilSwitchesCopyAll() {
    there = false;
    MirrorSampling next = new MirrorSampling(this::narrow, this::mirrored, true);
    assertThat(next.next(1, 1, nowNs)).isEqualTo(1.0 / 64);
    assertThat(next.next(0.01, 1, nowNs)).isEqualTo(0.01);
    there = true;
    assertThat(next.next(1, 1, nowNs)).isEqualTo(1);
  }

  @Test
  void anUninformedMonitorKeepsSwitchesWide() {
    for (int i = 0; i < 60; i++) {
      narrowing.next(0.1, 1, i * SECOND_NS);
    }
    assertThat(reportedZeros).isZero();
  }

  @Test
  void smallChangesOfTheRateChangeNoRules() {
    looks(30, 0.2);
    for (int i = 0; i < 60; i++) {
      look(i % 2 == 0 ? 0.17 : 0.235);
      assertThat(reportedZeros).isEqualTo(2);
    }
  }

  @Test
  void unreachableSwitchesCostNothing() {
    willing = false;
    for (int i = 0; i < 60; i++) {
      assertThat(look(0.01 + 0.01 * i)).isEqualTo(0.01 + 0.01 * i);
    }
  }

  @Test
  void monitorsNeverKeepMoreThanSwitchesCopy() {
    Random random = new Random(4);
    double wanted = 1;
    int narrowest = 0;
    for (int i = 0; i < 100_000; i++) {
      if (random.nextInt(30) == 0) {
        wanted = Math.pow(2, -8 * random.nextDouble());
      }
      there = random.nextInt(3) > 0;
      double rate = narrowing.next(wanted, kept, nowNs);
      nowNs += SECOND_NS;
      assertThat(rate).isLessThanOrEqualTo(copied(max));
      kept = random.nextInt(4) > 0 ? rate : Math.max(kept, rate);
      narrowest = Math.max(narrowest, reportedZeros);
    }
    assertThat(narrowest).isEqualTo(6);
  }
}
