package io.tapline.sdn.controller;

import io.tapline.sdn.flow.Cookie;
import java.util.Collection;

/** When switches that mirror are asked for their counters: often while somebody wants to know. */
final class CountReads {
  private static final long WANTED_FOR_NS = 10_000_000_000L;
  private static final long LEAST_NS = 1_000_000_000L;

  /** With 100,000 flows they are read each 5 s. */
  private static final long NS_A_FLOW = 50_000L;

  private boolean wanted;
  private long wantedNs;
  private long everyNs = LEAST_NS;

  /** Somebody wants to know what these have copied. */
  void want(Collection<SwitchState> switches, long nowNs) {
    wanted = true;
    wantedNs = nowNs;
    long flows = switches.stream().mapToLong(each -> each.counted.size()).sum();
    everyNs = Math.max(LEAST_NS, flows * NS_A_FLOW);
  }

  boolean isDue(SwitchState each, long nowNs) {
    wanted &= nowNs - wantedNs < WANTED_FOR_NS;
    return wanted && nowNs - each.countedNs >= everyNs && mayBeAsked(each);
  }

  /** Whether a switch mirrors, and has answered the last time. */
  static boolean mayBeAsked(SwitchState each) {
    return each.isReady() && !each.asked && each.count(Cookie.Kind.MIRROR) > 0;
  }
}
