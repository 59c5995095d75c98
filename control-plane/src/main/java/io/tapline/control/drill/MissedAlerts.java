package io.tapline.control.drill;

import java.util.HashMap;
import java.util.Map;

/**
 * Counts the alerts that nodes raised and that never arrived here, from the gaps in their numbers.
 * Thread-safe.
 */
final class MissedAlerts {
  private record Key(String watch, String node) {}

  private record Count(long last, long missed) {
    private static final Count NONE = new Count(0, 0);

    Count at(long number) {
      // The numbers start again at 1 after a restart of the node.
      long expected = number > last ? last + 1 : 1;
      return new Count(number, missed + number - expected);
    }
  }

  private final Map<Key, Count> counts = new HashMap<>();

  /**
   * Records an alert that has arrived.
   *
   * @param number the alert's number among those of the watch and node; 0 if it has none
   */
  synchronized void arrived(String watch, String node, long number) {
    if (number > 0) {
      Key key = new Key(watch, node);
      counts.put(key, counts.getOrDefault(key, Count.NONE).at(number));
    }
  }

  /** Returns the number of missed alerts of a watch on a node. */
  synchronized long of(String watch, String node) {
    return counts.getOrDefault(new Key(watch, node), Count.NONE).missed();
  }

  /** Removes the counts of a watch that has ended. */
  synchronized void forget(String watch) {
    counts.keySet().removeIf(key -> key.watch().equals(watch));
  }
}
