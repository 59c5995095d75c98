package io.tapline.sdn.topology;

import java.util.Set;

/**
 * A host and its location.
 *
 * @param ips empty if it is known only from flows
 * @param seenNs time of the last packet from the host
 */
public record Host(long mac, SwitchPort at, Set<Integer> ips, long seenNs) {
  public Host {
    ips = Set.copyOf(ips);
  }
}
