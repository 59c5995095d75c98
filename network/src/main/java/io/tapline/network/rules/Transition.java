package io.tapline.network.rules;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * Changes one table into another, one rule at a time. After each step, every packet is treated as
 * either the old or the new table would treat it. New rules are added first, the most specific ones
 * first, so that a packet's old rule decides until its new one is installed. Old rules are deleted
 * last, the least specific ones first, so that a packet's old rule outlives less specific ones.
 */
public final class Transition {
  /** Effect of a step on the table. */
  public enum Kind {
    ADD,
    /** Same match and priority, other monitors or owners. */
    MODIFY,
    DELETE
  }

  /** One message to be sent to the switch. */
  public record Step(Kind kind, MirrorRule rule) {}

  private Transition() {}

  /**
   * Returns the steps from one table to another.
   *
   * @param capacity maximum number of rules on the switch
   * @throws TooManyRules if the switch cannot hold old and new rules together
   */
  public static List<Step> steps(RuleTable previousTable, RuleTable newTable, int capacity) {
    Map<RuleMatch, MirrorRule> old = new HashMap<>();
    previousTable.rules().forEach(rule -> old.put(rule.match(), rule));
    List<Step> steps = new ArrayList<>();
    int max = old.size();
    for (MirrorRule rule : newTable.rules()) {
      MirrorRule was = old.remove(rule.match());
      if (was == null) {
        steps.add(new Step(Kind.ADD, rule));
        max++;
      } else if (!was.equals(rule)) {
        steps.add(new Step(Kind.MODIFY, rule));
      }
    }
    if (max > capacity) {
      throw new TooManyRules(
          "the change temporarily needs %d mirror rules, but the switch has room for %d: stop a query first"
              .formatted(max, capacity));
    }
    old.values().stream()
        .sorted(Comparator.comparingInt(MirrorRule::priority))
        .forEach(rule -> steps.add(new Step(Kind.DELETE, rule)));
    return steps;
  }

  /** Returns the table after a step. */
  public static RuleTable apply(RuleTable table, Step step) {
    return step.kind() == Kind.DELETE
        ? table.without(step.rule().match())
        : table.with(step.rule());
  }
}
