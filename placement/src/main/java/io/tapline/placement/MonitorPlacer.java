package io.tapline.placement;

import java.util.List;
import java.util.random.RandomGenerator;

/** Decides where monitors run and which flows each one takes. */
@FunctionalInterface
interface MonitorPlacer {
  /**
   * Places monitors for all flows.
   *
   * @param use reduced by their resources
   */
  Monitors place(Problem problem, HostUse use, RandomGenerator random);

  /** Monitors, and for each flow its monitor. */
  record Monitors(int[] monitorOfFlow, List<Layout.Process> monitors) {}
}
