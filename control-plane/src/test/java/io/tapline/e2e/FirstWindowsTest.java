package io.tapline.e2e;

import static org.assertj.core.api.Assertions.assertThat;

import io.tapline.e2e.FirstWindows.Disturbance;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * Tests the first windows of a query over real switches. Skipped, with the reason, on hosts that
 * can't run a testbed.
 */
@MakesNetworkDevices
class FirstWindowsTest {
  @TempDir Path folder;

  @Test
  void completeWindowsMatchTheHostsCounts() throws Exception {
    try (FirstWindows windows = FirstWindows.up(folder)) {
      for (Disturbance disturbance :
          new Disturbance[] {Disturbance.NONE, Disturbance.MONITOR_KILLED}) {
        assertThat(windows.start(disturbance).partial())
            .as("partial windows, %s", disturbance)
            .isPositive();
      }
    }
  }
}
