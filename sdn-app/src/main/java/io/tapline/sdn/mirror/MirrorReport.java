package io.tapline.sdn.mirror;

import java.util.List;
import java.util.SortedMap;

/**
 * How far switches are with what is wanted of them.
 *
 * @param rules flows in place by switch, as far as the adapter knows
 * @param missing what is not, and why, for people; empty if all is
 */
public record MirrorReport(SortedMap<String, Integer> rules, List<String> missing) {
  public boolean complete() {
    return missing.isEmpty();
  }
}
