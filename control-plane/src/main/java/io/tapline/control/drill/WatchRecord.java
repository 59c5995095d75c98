package io.tapline.control.drill;

import java.util.LinkedHashMap;
import java.util.Map;

/**
 * A watch with its history, which outlives the control plane. Times are nanoseconds since the
 * epoch.
 *
 * @param id name of the watch, with which the names of its definitions on nodes begin
 * @param owner tenant that added it; empty if no tenant did
 * @param token hash of the token with which it was added; empty if none was needed
 * @param addedNs time at which it was added
 * @param endedNs time at which the control plane ended it; 0 while it is active
 * @param reason user-facing reason why it ended; empty while it is active
 * @param query query that evaluates it in a monitor; empty if none does
 * @param trigger number of its trigger in that query
 * @param coverage coverage by each node that has evaluated the watch, keyed by the node's name
 */
public record WatchRecord(
    String id,
    WatchSpec spec,
    String owner,
    String token,
    long addedNs,
    long endedNs,
    String reason,
    String query,
    int trigger,
    Map<String, Coverage> coverage) {
  public WatchRecord {
    coverage = Map.copyOf(coverage);
  }

  /** Returns a watch that no node evaluates yet. */
  public static WatchRecord added(
      String id, WatchSpec spec, String owner, String token, long addedNs) {
    return new WatchRecord(id, spec, owner, token, addedNs, 0, "", "", 0, Map.of());
  }

  /** Returns the place in a monitor where the watch is evaluated. REQUIRES: it has a query. */
  MonitorWatches.Place place() {
    return new MonitorWatches.Place(query, trigger);
  }

  /** Returns true unless the control plane has ended it. */
  public boolean isActive() {
    return endedNs == 0;
  }

  /** Returns the record of the watch after its end. */
  public WatchRecord ended(long nowNs, String reason) {
    return new WatchRecord(
        id, spec, owner, token, addedNs, nowNs, reason, query, trigger, coverage);
  }

  /** Returns the watch as evaluated at this place. */
  WatchRecord by(MonitorWatches.Place place) {
    return new WatchRecord(
        id, spec, owner, token, addedNs, endedNs, reason, place.query(), place.trigger(), coverage);
  }

  /** Returns the watch with a node's new coverage. */
  public WatchRecord with(String node, Coverage evaluation) {
    Map<String, Coverage> all = new LinkedHashMap<>(coverage);
    all.put(node, evaluation);
    return new WatchRecord(id, spec, owner, token, addedNs, endedNs, reason, query, trigger, all);
  }
}
