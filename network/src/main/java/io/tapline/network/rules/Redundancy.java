package io.tapline.network.rules;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Set;

/** Removes rules that do not change how any packet is treated. */
final class Redundancy {
  private Redundancy() {}

  static List<MirrorRule> without(List<MirrorRule> rules) {
    List<MirrorRule> kept = new ArrayList<>(rules);
    kept.sort(Comparator.comparingInt(MirrorRule::priority));
    for (MirrorRule rule : List.copyOf(kept)) {
      if (isRedundant(rule, kept)) {
        kept.remove(rule);
      }
    }
    return kept;
  }

  /**
   * Returns true if all of its packets would otherwise match an enclosing rule, or none, with the
   * same effect.
   */
  private static boolean isRedundant(MirrorRule rule, List<MirrorRule> rules) {
    MirrorRule around = null;
    for (MirrorRule other : rules) {
      boolean wider = other != rule && other.match().covers(rule.match());
      if (wider && (around == null || other.priority() > around.priority())) {
        around = other;
      }
    }
    int floor = around == null ? 0 : around.priority();
    Set<String> remaining = around == null ? Set.of() : around.monitors();
    if (!remaining.equals(rule.monitors())) {
      return false;
    }
    for (MirrorRule other : rules) {
      boolean between = other.priority() >= floor && other.priority() <= rule.priority();
      boolean differs = other != rule && other != around && !other.monitors().equals(remaining);
      if (between && differs && other.match().overlaps(rule.match())) {
        return false;
      }
    }
    return true;
  }
}
