package io.tapline.e2e;

import static org.assertj.core.api.Assertions.assertThat;

import io.tapline.e2e.FirstWindows.Disturbance;
import io.tapline.e2e.FirstWindows.Outcome;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * Repeatedly starts a query over real switches. In two of three starts, its monitor or agent is
 * killed.
 */
class FirstWindowsSoak {
  private static final int STARTS = 20;

  @TempDir Path folder;

  @Test
  void completeWindowsMatchTheHostsCounts() throws Exception {
    try (FirstWindows windows = FirstWindows.up(folder)) {
      for (int start = 0; start < STARTS; start++) {
        Disturbance disturbance = Disturbance.values()[start % Disturbance.values().length];
        Outcome outcome = windows.start(disturbance);
        System.out.printf(
            "Start %d, %s: %d partial seconds, %d complete seconds as on the host%n",
            start + 1, disturbance, outcome.partial(), outcome.compared());
        assertThat(outcome.partial()).as("partial windows").isPositive();
      }
    }
  }
}
