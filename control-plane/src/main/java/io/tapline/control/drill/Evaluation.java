package io.tapline.control.drill;

import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/**
 * A node's evaluation of a watch, as far as it is known. Times are nanoseconds since the epoch.
 *
 * @param node name of the node
 * @param evaluates true if the node is connected and evaluates the watch now
 * @param knownToNs if {@code evaluates} is false, the time since which it is unknown whether the
 *     node evaluates the watch
 * @param coverage evaluation so far; null if the node never began
 * @param missedAlerts alerts of the node that this server never received
 */
public record Evaluation(
    String node, boolean evaluates, long knownToNs, Coverage coverage, long missedAlerts) {
  /** Time without any message after which a node's state is unknown: several heartbeats. */
  private static final long SILENT_NS = 3_000_000_000L;

  /**
   * Returns the evaluations of a watch, ordered by node name.
   *
   * @param nodes the nodes that should evaluate it
   */
  static List<Evaluation> of(
      WatchRecord watch, Collection<NodeClient> nodes, NodeFeeds feeds, MissedAlerts missedAlerts) {
    Map<String, NodeClient> all = new TreeMap<>();
    // Includes nodes that evaluated the watch and no longer exist.
    watch.coverage().keySet().forEach(name -> all.put(name, null));
    nodes.forEach(node -> all.put(node.name(), node));
    Map<String, Long> lastHeard = feeds.lastHeard();
    List<Evaluation> evaluations = new ArrayList<>();
    all.forEach(
        (name, node) -> {
          Coverage coverage = watch.coverage().get(name);
          long heardNs = lastHeard.getOrDefault(name, 0L);
          boolean evaluates =
              coverage != null
                  && node != null
                  && isSame(coverage, node, feeds)
                  && heardNs > WatchService.nowNs() - SILENT_NS;
          long known = coverage == null ? watch.addedNs() : Math.max(coverage.sinceNs(), heardNs);
          evaluations.add(
              new Evaluation(name, evaluates, known, coverage, missedAlerts.of(watch.id(), name)));
        });
    return evaluations;
  }

  private static boolean isSame(Coverage coverage, NodeClient node, NodeFeeds feeds) {
    return feeds.isAttached(node)
        && (coverage.incarnation() == 0 || coverage.incarnation() == feeds.incarnation(node));
  }
}
