package io.tapline.control.rest.http;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

class RateLimitsTest {
  private static final long SECOND_NS = 1_000_000_000L;

  private final RateLimits limits = new RateLimits();

  private int taken(String tenant, int perSecond, long nowNs) {
    int taken = 0;
    while (taken < 1000 && limits.take(tenant, perSecond, nowNs) == 0) {
      taken++;
    }
    return taken;
  }

  @Test
  void allowsABurstOfOneSecondAndRefills() {
    assertThat(taken("web", 20, 0)).isEqualTo(20);
    assertThat(taken("web", 20, SECOND_NS / 2)).isEqualTo(10);
    assertThat(taken("web", 20, 100 * SECOND_NS)).as("no more is accumulated").isEqualTo(20);
  }

  @Test
  void tenantsDoNotShareAnAllowance() {
    assertThat(taken("web", 20, 0)).isEqualTo(20);
    assertThat(taken("db", 5, 0)).isEqualTo(5);
  }

  @Test
  void theResponseNamesTheTimeToRetry() {
    assertThat(taken("web", 1, 0)).isEqualTo(1);
    assertThat(limits.take("web", 1, 0)).isEqualTo(1);
    assertThat(limits.take("web", 1, SECOND_NS)).isZero();
  }

  @Test
  void callersWithoutALimitAreNeverRejected() {
    assertThat(taken("ops", Integer.MAX_VALUE, 0)).isEqualTo(1000);
  }
}
