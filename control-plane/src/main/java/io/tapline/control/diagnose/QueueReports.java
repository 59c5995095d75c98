package io.tapline.control.diagnose;

import io.tapline.control.drill.DrillException;
import java.util.List;
import java.util.function.Predicate;

/** Determines which flows filled queues, from the bursts that queries reported. */
public interface QueueReports {
  /**
   * Returns the bursts of a queue between two times.
   *
   * @param queue SWITCH:NEIGHBOUR or SWITCH:PORT-NUMBER
   * @param toNs 0 for no end
   * @param allowed selects queries by ID; the events of others are not read
   * @throws DrillException if there is no such queue, or no query measured it
   */
  QueueReport of(String queue, long fromNs, long toNs, Predicate<String> allowed)
      throws DrillException;

  /**
   * Returns the bursts of every queue that queries name or reported, ordered by name. The
   * parameters are those of {@link #of}.
   */
  List<QueueReport> all(long fromNs, long toNs, Predicate<String> allowed);

  /** Returns the switch or host at the other end of a queue's link; empty if it is unknown. */
  String neighbour(String queue);
}
