package io.tapline.control.drill;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

/** Tests periods without evaluation, and alerts that never arrived. */
class WatchHistoryTest {
  @Test
  void gapsAddUpAndTheLatestAreKept() {
    Coverage coverage = Coverage.since(1, 0);
    for (int i = 1; i <= 3 * Coverage.MAX_GAPS; i++) {
      coverage = coverage.resumed(1, 100L * i, 100L * i + 10, "gap " + i);
    }
    assertThat(coverage.notEvaluatedNs()).isEqualTo(30L * Coverage.MAX_GAPS);
    assertThat(coverage.gaps()).hasSize(Coverage.MAX_GAPS);
    assertThat(coverage.gaps().get(Coverage.MAX_GAPS - 1).reason())
        .isEqualTo("gap " + 3 * Coverage.MAX_GAPS);
    assertThat(coverage.sinceNs()).isEqualTo(300L * Coverage.MAX_GAPS + 10);
  }

  @Test
  void gapsInNumbersAreMissedAlerts() {
    MissedAlerts missedAlerts = new MissedAlerts();
    for (long number : new long[] {3, 4, 7}) {
      missedAlerts.arrived("watch_1", "h1", number);
    }
    assertThat(missedAlerts.of("watch_1", "h1")).isEqualTo(4);
    missedAlerts.arrived("watch_1", "h1", 2);
    assertThat(missedAlerts.of("watch_1", "h1")).as("a restarted node begins at 1").isEqualTo(5);
    missedAlerts.arrived("watch_1", "h2", 0);
    assertThat(missedAlerts.of("watch_1", "h2")).isZero();
    missedAlerts.forget("watch_1");
    assertThat(missedAlerts.of("watch_1", "h1")).isZero();
  }
}
