package io.tapline.placement;

import java.util.List;
import java.util.random.RandomGenerator;

/** Decides where monitors run and which flows each one takes. */
@FunctionalInterface
interface MonitorPlacer {
  /**
   * Places monitors for all flows.
   *
   * @param use free resources, from which the monitors' needs are deducted
   */
  Monitors place(Problem problem, HostUse use, RandomGenerator random);

  /** Monitors, and the monitor of each flow. */
  record Monitors(int[] monitorOfFlow, List<Layout.Process> monitors) {}
}
