package io.tapline.sdn.mirror;

import java.util.Set;

/**
 * The number of packets that a mirror flow has copied, as its switch reports.
 *
 * @param flow unique name among all switches; a flow that was installed or changed since has
 *     another name
 * @param hosts hosts that it copies to
 * @param packets number as last read: switches update their counters now and then
 * @param readNs when it was read, of System.nanoTime
 */
public record MirrorCount(String flow, Set<String> hosts, long packets, long readNs) {
  public MirrorCount {
    hosts = Set.copyOf(hosts);
  }
}
