package io.tapline.control.drill;

import io.tapline.control.drill.WatchService.Alert;
import io.tapline.control.drill.WatchService.Finding;
import java.util.ArrayDeque;
import java.util.Comparator;
import java.util.Deque;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * The latest alerts of each owner's watches: one owner's alerts never evict another's, and each
 * owner's numbers have no gaps that would reveal other owners' alerts. Not thread-safe.
 */
final class AlertLog {
  private static final class Owned {
    private final Deque<Alert> latest = new ArrayDeque<>();
    private long added;
  }

  private final int capacity;
  private final Map<String, Owned> owners = new HashMap<>();
  private long before;
  private long added;

  /**
   * Creates an empty log.
   *
   * @param capacity maximum number of alerts per owner; the oldest are dropped
   */
  AlertLog(int capacity) {
    this.capacity = capacity;
  }

  /** Continues after the numbers of an earlier server. REQUIRES: the log is empty. */
  void continueAt(long number) {
    before = number;
  }

  void add(
      String owner, String node, Finding finding, Map<String, Long> parts, List<String> missing) {
    Owned owned = owners.computeIfAbsent(owner, name -> new Owned());
    owned.latest.addLast(
        new Alert(
            before + ++added,
            owner,
            before + ++owned.added,
            node,
            finding,
            WatchService.nowNs(),
            parts,
            missing));
    if (owned.latest.size() > capacity) {
      owned.latest.removeFirst();
    }
  }

  /** Returns all owners' alerts after this global number, oldest first. */
  List<Alert> after(long number) {
    return owners.values().stream()
        .flatMap(owned -> owned.latest.stream())
        .filter(alert -> alert.number() > number)
        .sorted(Comparator.comparingLong(Alert::number))
        .toList();
  }

  /**
   * Returns an owner's alerts after this number, which counts only the owner's alerts, oldest
   * first.
   */
  List<Alert> after(String owner, long number) {
    Owned owned = owners.get(owner);
    return owned == null
        ? List.of()
        : owned.latest.stream().filter(alert -> alert.ownNumber() > number).toList();
  }
}
