package io.tapline.sdn.mirror;

import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.SortedMap;
import java.util.stream.Stream;

/**
 * The switches' progress towards the wanted state.
 *
 * @param rules number of installed flows by switch, as far as known to the adapter
 * @param missing messages for users about each incomplete switch: missing rules and the reasons
 */
public record MirrorReport(
    SortedMap<String, Integer> rules, SortedMap<String, List<String>> missing) {
  public boolean complete() {
    return missing.isEmpty();
  }

  /** Returns the messages about these switches, prefixed with the switches' names. */
  public List<String> missing(Collection<String> switches) {
    return missing.entrySet().stream()
        .filter(entry -> switches.contains(entry.getKey()))
        .flatMap(MirrorReport::named)
        .toList();
  }

  private static Stream<String> named(Map.Entry<String, List<String>> entry) {
    return entry.getValue().stream().map(fault -> "switch %s: %s".formatted(entry.getKey(), fault));
  }
}
