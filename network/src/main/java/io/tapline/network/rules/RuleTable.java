package io.tapline.network.rules;

import java.util.ArrayList;
import java.util.Collection;
import java.util.Collections;
import java.util.Comparator;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.SortedSet;
import java.util.TreeSet;

/**
 * The mirror table of one switch, as an immutable value: among the rules that match a packet, the
 * one with the highest priority decides where copies go. A packet that matches no rule is not
 * copied. Every packet then continues to forwarding unchanged.
 *
 * <p>The table is derived from the packets that queries want: equal and adjacent matches are
 * merged. If two rules overlap and differ, their intersection becomes a separate rule that sends
 * copies to the monitors of both. A rule's priority is the number of bits that it fixes, so the
 * most specific one decides.
 */
public final class RuleTable {
  /**
   * Maximum number of rules. Hardware switches rarely support more, and computing more would take
   * too long.
   */
  public static final int MAX_RULES = 65_536;

  private static final Comparator<MirrorRule> ORDER =
      Comparator.comparingInt(MirrorRule::priority)
          .reversed()
          .thenComparing(rule -> rule.match().toString());

  private final List<MirrorRule> rules;

  /** Creates a table. REQUIRES: the rules are in {@link #ORDER}. */
  private RuleTable(List<MirrorRule> rules) {
    this.rules = List.copyOf(rules);
  }

  public static RuleTable empty() {
    return new RuleTable(List.of());
  }

  /** Returns this table with a rule added, which replaces a rule with the same match. */
  RuleTable with(MirrorRule rule) {
    List<MirrorRule> changedRules = new ArrayList<>(without(rule.match()).rules);
    changedRules.add(-1 - Collections.binarySearch(changedRules, rule, ORDER), rule);
    return new RuleTable(changedRules);
  }

  /** Returns this table without the rule that has this match. */
  RuleTable without(RuleMatch match) {
    return new RuleTable(rules.stream().filter(rule -> !rule.match().equals(match)).toList());
  }

  /**
   * Returns the table for the packets wanted at a switch.
   *
   * @param capacity maximum number of rules
   * @throws TooManyRules if it would need more
   */
  public static RuleTable of(Collection<Wanted> wanted, int capacity) {
    List<Wanted> few = Reduction.reduce(wanted);
    Map<RuleMatch, MirrorRule> rules = new HashMap<>();
    List<MirrorRule> closedRules = new ArrayList<>();
    List<RuleMatch> waiting = new ArrayList<>();
    few.stream().map(Wanted::match).distinct().forEach(waiting::add);
    Set<RuleMatch> seen = new LinkedHashSet<>(waiting);
    for (int i = 0; i < waiting.size(); i++) {
      MirrorRule rule = rule(waiting.get(i), few);
      for (MirrorRule otherRule : closedRules) {
        boolean differ = !otherRule.monitors().equals(rule.monitors());
        if (differ && otherRule.match().overlaps(rule.match())) {
          RuleMatch common = otherRule.match().and(rule.match());
          if (seen.add(common)) {
            waiting.add(common);
          }
        }
      }
      closedRules.add(rule);
      rules.put(rule.match(), rule);
      if (rules.size() > MAX_RULES) {
        throw tooMany("more than " + MAX_RULES, capacity);
      }
    }
    List<MirrorRule> needed = Redundancy.without(closedRules);
    if (needed.size() > capacity) {
      throw tooMany(String.valueOf(needed.size()), capacity);
    }
    needed.sort(ORDER);
    return new RuleTable(needed);
  }

  private static TooManyRules tooMany(String needed, int capacity) {
    return new TooManyRules(
        "the queries need %s mirror rules, but the switch has room for %d: use subnets instead of single hosts, or stop a query"
            .formatted(needed, capacity));
  }

  private static MirrorRule rule(RuleMatch match, List<Wanted> wanted) {
    Map<List<String>, Boolean> wants = new HashMap<>();
    for (Wanted want : wanted) {
      if (want.match().covers(match)) {
        wants.merge(List.of(want.owner(), want.monitor()), !want.except(), Boolean::logicalAnd);
      }
    }
    SortedSet<String> monitors = new TreeSet<>();
    SortedSet<String> owners = new TreeSet<>();
    wants.forEach(
        (key, want) -> {
          owners.add(key.get(0));
          if (want) {
            monitors.add(key.get(1));
          }
        });
    return new MirrorRule(match.bits() + 1, match, monitors, owners);
  }

  /** Returns the rules, highest priority first. */
  public List<MirrorRule> rules() {
    return rules;
  }

  /** Returns the rule that decides on a packet. */
  public Optional<MirrorRule> lookUp(RuleMatch.Header header) {
    return rules.stream().filter(rule -> rule.match().matches(header)).findFirst();
  }

  /** Returns the monitors that get copies of a packet. */
  public Set<String> monitors(RuleMatch.Header header) {
    return lookUp(header).map(rule -> (Set<String>) rule.monitors()).orElse(Set.of());
  }
}
