package io.tapline.sdn.mirror;

import java.util.Set;

/**
 * How many packets a switch says that one of its mirror flows has copied.
 *
 * @param flow names it among all switches; one that was installed or changed since has another name
 * @param hosts that it copies to
 * @param packets as last read: switches bring their counters up to date now and then
 * @param readNs when that was heard, of System.nanoTime
 */
public record MirrorCount(String flow, Set<String> hosts, long packets, long readNs) {
  public MirrorCount {
    hosts = Set.copyOf(hosts);
  }
}
