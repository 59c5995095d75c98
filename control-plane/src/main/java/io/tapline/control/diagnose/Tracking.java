package io.tapline.control.diagnose;

import io.tapline.control.drill.DrillAggregate;
import io.tapline.control.drill.DrillException;
import io.tapline.control.drill.WatchService;
import io.tapline.control.drill.WatchSpec;
import java.util.List;
import java.util.Map;

/**
 * The monitoring of Confluo's Figure 2: each node tracks the highest sequence number of each flow
 * and the segments below it, and raises an alert if there are too many such segments.
 */
public final class Tracking {
  private static final String FILTER = Headers.DATA + " && seq < SEQ";
  private static final long WINDOW_NS = 10_000_000;
  private static final long EVERY_NS = 1_000_000;

  private final WatchService watches;

  public Tracking(WatchService watches) {
    this.watches = watches;
  }

  /**
   * Starts tracking on all nodes; does nothing if it has already started.
   *
   * @param limit maximum retransmissions of a flow within 10 ms without an alert
   * @param reorderNs a segment that arrives at most this long after newer ones counts as reordered
   * @return name of the watch that raises the alerts on retransmissions
   */
  public synchronized String begin(long limit, long reorderNs) throws DrillException {
    String running = find();
    if (running != null) {
      return running;
    }
    String filter = reorderNs == 0 ? FILTER : FILTER + " && time > TS + " + reorderNs + "ns";
    return watches.add(
        new WatchSpec(
            filter,
            DrillAggregate.parse("COUNT", FlowKey.FIELDS),
            "COUNT > " + limit,
            WINDOW_NS,
            EVERY_NS,
            "warning",
            List.of()));
  }

  /** Returns the stored filter for retransmissions; null if they are not tracked. */
  String filter() {
    String name = find();
    return name == null ? null : name + "_filter";
  }

  private String find() {
    for (Map.Entry<String, WatchSpec> watch : watches.list().entrySet()) {
      if (watch.getValue().filter().text().startsWith(FILTER)) {
        return watch.getKey();
      }
    }
    return null;
  }
}
