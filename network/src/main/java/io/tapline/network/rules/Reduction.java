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
 * merges adjacent prefixes and port masks. Works separately for each query and monitor, and for
 * wanted and excepted packets, so that each query still wants the same packets.
 */
final class Reduction {
  private Reduction() {}

  static List<Wanted> reduce(Collection<Wanted> wanted) {
    Map<Wanted, Set<RuleMatch>> groups = new java.util.LinkedHashMap<>();
    for (Wanted want : wanted) {
      Wanted group = new Wanted(want.owner(), want.monitor(), RuleMatch.ANY, want.except());
      groups.computeIfAbsent(group, key -> new LinkedHashSet<>()).add(want.match());
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

  /** Returns fewer matches with the same union. */
  static List<RuleMatch> matches(Collection<RuleMatch> matches) {
    List<RuleMatch> all = new ArrayList<>(new LinkedHashSet<>(matches));
    boolean hasChanged = true;
    while (hasChanged) {
      all = withoutCovered(all);
      List<RuleMatch> joined = joined(all);
      hasChanged = joined.size() < all.size();
      all = joined;
    }
    return all;
  }

  private static List<RuleMatch> withoutCovered(List<RuleMatch> matches) {
    List<RuleMatch> kept = new ArrayList<>();
    for (RuleMatch match : matches) {
      boolean isCovered = matches.stream().anyMatch(o -> !o.equals(match) && o.covers(match));
      if (!isCovered) {
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
      RuleMatch wholeMatch = match;
      for (int j = i + 1; j < matches.size() && wholeMatch == match; j++) {
        RuleMatch otherMatch = matches.get(j);
        RuleMatch bothMatch = gone.containsKey(otherMatch) ? null : match.joined(otherMatch);
        if (bothMatch != null) {
          gone.put(otherMatch, true);
          wholeMatch = bothMatch;
        }
      }
      result.add(wholeMatch);
    }
    return result;
  }
}
