package io.tapline.sdn.mirror;

import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.SortedMap;
import java.util.stream.Stream;

/**
 * How far switches are with what is wanted of them.
 *
 * @param rules flows in place by switch, as far as the adapter knows
 * @param missing by switch, what is not there, and why, for people; only switches with something
 */
public record MirrorReport(
    SortedMap<String, Integer> rules, SortedMap<String, List<String>> missing) {
  public boolean complete() {
    return missing.isEmpty();
  }

  /** What is missing of some switches, each named. */
  public List<String> missing(Collection<String> switches) {
    return missing.entrySet().stream()
        .filter(each -> switches.contains(each.getKey()))
        .flatMap(MirrorReport::named)
        .toList();
  }

  private static Stream<String> named(Map.Entry<String, List<String>> each) {
    return each.getValue().stream().map(what -> "switch %s: %s".formatted(each.getKey(), what));
  }
}
