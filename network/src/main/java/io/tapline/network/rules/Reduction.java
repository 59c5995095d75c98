package io.tapline.network.rules;

import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * Reduces the number of matches for the same packets: removes matches that others contain, and
 * merges adjacent prefixes and port masks. Works per query, monitor and kind, which preserves the
 * packets that each query wants.
 */
final class Reduction {
  private Reduction() {}

  static List<Wanted> reduce(Collection<Wanted> wanted) {
    Map<Wanted, Set<RuleMatch>> groups = new java.util.LinkedHashMap<>();
    for (Wanted each : wanted) {
      Wanted group = new Wanted(each.owner(), each.monitor(), RuleMatch.ANY, each.except());
      groups.computeIfAbsent(group, key -> new LinkedHashSet<>()).add(each.match());
    }
    List<Wanted> reduced = new ArrayList<>();
    groups.forEach(
        (group, matches) ->
            matches(matches)
                .forEach(
                    match ->
                        reduced.add(
                            new Wanted(group.owner(), group.monitor(), match, group.except()))));
    return reduced;
  }

  /** Returns the same union with fewer matches. */
  static List<RuleMatch> matches(Collection<RuleMatch> matches) {
    List<RuleMatch> all = new ArrayList<>(new LinkedHashSet<>(matches));
    boolean changed = true;
    while (changed) {
      all = withoutCovered(all);
      List<RuleMatch> joined = joined(all);
      changed = joined.size() < all.size();
      all = joined;
    }
    return all;
  }

  private static List<RuleMatch> withoutCovered(List<RuleMatch> matches) {
    List<RuleMatch> kept = new ArrayList<>();
    for (RuleMatch match : matches) {
      boolean covered = matches.stream().anyMatch(o -> !o.equals(match) && o.covers(match));
      if (!covered) {
        kept.add(match);
      }
    }
    return kept;
  }

  /** Merges each match with at most one other, if a single match is the union of both. */
  private static List<RuleMatch> joined(List<RuleMatch> matches) {
    List<RuleMatch> result = new ArrayList<>();
    Map<RuleMatch, Boolean> gone = new HashMap<>();
    for (int i = 0; i < matches.size(); i++) {
      RuleMatch match = matches.get(i);
      if (gone.containsKey(match)) {
        continue;
      }
      RuleMatch whole = match;
      for (int j = i + 1; j < matches.size() && whole == match; j++) {
        RuleMatch other = matches.get(j);
        RuleMatch both = gone.containsKey(other) ? null : match.joined(other);
        if (both != null) {
          gone.put(other, true);
          whole = both;
        }
      }
      result.add(whole);
    }
    return result;
  }
}
