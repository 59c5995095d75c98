package io.tapline.compiler.rules;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * The way from one table to another in single steps. After each of them every packet is treated as
 * before the change or as after it, never in a third way: what is new comes first, the narrowest
 * rules foremost, for until a packet's last rule is there its old one decides; what is old goes
 * last, the widest rules foremost, so that a packet's old rule outlives those behind it.
 */
public final class Transition {
  /** What a step does with a rule. */
  public enum Kind {
    ADD,
    /** Same match and priority, other monitors or owners. */
    MODIFY,
    DELETE
  }

  /** One message to the switch. */
  public record Step(Kind kind, MirrorRule rule) {}

  private Transition() {}

  /**
   * The steps.
   *
   * @param capacity rules that the switch takes
   * @throws TooManyRules if old and new rules together have no room
   */
  public static List<Step> steps(RuleTable before, RuleTable after, int capacity) {
    Map<RuleMatch, MirrorRule> old = new HashMap<>();
    before.rules().forEach(rule -> old.put(rule.match(), rule));
    List<Step> steps = new ArrayList<>();
    int most = old.size();
    for (MirrorRule rule : after.rules()) {
      MirrorRule was = old.remove(rule.match());
      if (was == null) {
        steps.add(new Step(Kind.ADD, rule));
        most++;
      } else if (!was.equals(rule)) {
        steps.add(new Step(Kind.MODIFY, rule));
      }
    }
    if (most > capacity) {
      throw new TooManyRules(
          "%d mirror rules are needed during the change where %d have room: end a query first"
              .formatted(most, capacity));
    }
    old.values().stream()
        .sorted(Comparator.comparingInt(MirrorRule::priority))
        .forEach(rule -> steps.add(new Step(Kind.DELETE, rule)));
    return steps;
  }

  /** The table after a step. */
  public static RuleTable apply(RuleTable table, Step step) {
    return step.kind() == Kind.DELETE
        ? table.without(step.rule().match())
        : table.with(step.rule());
  }
}
