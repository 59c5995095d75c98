package io.tapline.control.diagnose;

import io.tapline.control.drill.DrillException;

/** Says which flows filled a queue, from what queries reported. */
@FunctionalInterface
public interface QueueReports {
  /**
   * Returns the bursts of a queue between two times.
   *
   * @param queue SWITCH:NEIGHBOUR or SWITCH:PORT-NUMBER
   * @param toNs 0 for no end
   * @throws DrillException if there is no such queue, or no query measured it
   */
  QueueReport of(String queue, long fromNs, long toNs) throws DrillException;
}
