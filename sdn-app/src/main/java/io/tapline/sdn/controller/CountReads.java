package io.tapline.sdn.controller;

import io.tapline.sdn.flow.Cookie;
import java.util.Collection;

/**
 * Decides when to request counters from mirroring switches: frequently while a caller is
 * interested.
 */
final class CountReads {
  private static final long WANTED_FOR_NS = 10_000_000_000L;
  private static final long MIN_NS = 1_000_000_000L;

  /** Read interval per flow in the network: with 100,000 flows, switches are read every 5 s. */
  private static final long NS_A_FLOW = 50_000L;

  private boolean wanted;
  private long wantedNs;
  private long everyNs = MIN_NS;

  /** Records that a caller is interested in the number of packets mirrored by these switches. */
  void want(Collection<SwitchState> switches, long nowNs) {
    wanted = true;
    wantedNs = nowNs;
    long flows = switches.stream().mapToLong(sw -> sw.counted.size()).sum();
    everyNs = Math.max(MIN_NS, flows * NS_A_FLOW);
  }

  boolean isDue(SwitchState sw, long nowNs) {
    wanted &= nowNs - wantedNs < WANTED_FOR_NS;
    return wanted && nowNs - sw.countedNs >= everyNs && isReadable(sw);
  }

  /** Returns true if a switch mirrors and has answered the last request. */
  static boolean isReadable(SwitchState sw) {
    return sw.isReady() && !sw.requested && sw.count(Cookie.Kind.MIRROR) > 0;
  }
}
