package io.tapline.sdn.topology;

import java.util.Set;

/**
 * A host and where it is.
 *
 * @param ips none if only its flows told of it
 * @param seenNs when it last spoke
 */
public record Host(long mac, SwitchPort at, Set<Integer> ips, long seenNs) {
  public Host {
    ips = Set.copyOf(ips);
  }
}
