package io.tapline.sdn.mirror;

import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;

/**
 * The number of packets that a mirror flow has copied, as reported by its switch.
 *
 * @param flow unique name among all switches; installing or changing a flow gives it a new name
 * @param hosts hosts that receive its copies
 * @param packets number as last read; switches update their counters with a delay
 * @param readNs time of that read, from System.nanoTime
 */
public record MirrorCount(String flow, Set<String> hosts, long packets, long readNs) {
  public MirrorCount {
    hosts = Set.copyOf(hosts);
  }

  /**
   * Returns the counts of a flow: one or, if a host gets several marked copies of each packet, one
   * per copy.
   *
   * @param copies the host of each copy
   */
  public static List<MirrorCount> of(String flow, List<String> copies, long packets, long readNs) {
    List<MirrorCount> counts = new ArrayList<>();
    List<String> left = new ArrayList<>(copies);
    do {
      Set<String> once = new HashSet<>(left);
      once.forEach(left::remove);
      String name = counts.isEmpty() ? flow : "%s copy %d".formatted(flow, counts.size());
      counts.add(new MirrorCount(name, once, packets, readNs));
    } while (!left.isEmpty());
    return counts;
  }
}
