package io.tapline.sdn.mirror;

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
}
