package io.tapline.e2e;

import static org.assertj.core.api.Assertions.assertThat;

import io.tapline.e2e.FirstWindows.Disturbance;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Skipped, with the reason, if no testbed is possible. */
@MakesNetworkDevices
class FirstWindowsTest {
  @TempDir Path folder;

  @Test
  void completeWindowsMatchTheHostsCounts() throws Exception {
    try (FirstWindows windows = FirstWindows.up(folder)) {
      for (Disturbance each : new Disturbance[] {Disturbance.NONE, Disturbance.MONITOR_KILLED}) {
        assertThat(windows.start(each).partial()).as("partial windows, %s", each).isPositive();
      }
    }
  }
}
