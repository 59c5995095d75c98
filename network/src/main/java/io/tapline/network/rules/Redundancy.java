package io.tapline.network.rules;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Set;

/** Removes rules that do not change how any packet is treated. */
final class Redundancy {
  private Redundancy() {}

  static List<MirrorRule> without(List<MirrorRule> rules) {
    List<MirrorRule> keptRules = new ArrayList<>(rules);
    keptRules.sort(Comparator.comparingInt(MirrorRule::priority));
    for (MirrorRule rule : List.copyOf(keptRules)) {
      if (isRedundant(rule, keptRules)) {
        keptRules.remove(rule);
      }
    }
    return keptRules;
  }

  /**
   * Returns true if, without this rule, the next less specific rule (or no rule) would treat all
   * its packets in the same way.
   */
  private static boolean isRedundant(MirrorRule rule, List<MirrorRule> rules) {
    MirrorRule around = null;
    for (MirrorRule otherRule : rules) {
      boolean wider = otherRule != rule && otherRule.match().covers(rule.match());
      if (wider && (around == null || otherRule.priority() > around.priority())) {
        around = otherRule;
      }
    }
    int floor = around == null ? 0 : around.priority();
    Set<String> remaining = around == null ? Set.of() : around.monitors();
    if (!remaining.equals(rule.monitors())) {
      return false;
    }
    for (MirrorRule otherRule : rules) {
      boolean between = otherRule.priority() >= floor && otherRule.priority() <= rule.priority();
      boolean differs =
          otherRule != rule && otherRule != around && !otherRule.monitors().equals(remaining);
      if (between && differs && otherRule.match().overlaps(rule.match())) {
        return false;
      }
    }
    return true;
  }
}
