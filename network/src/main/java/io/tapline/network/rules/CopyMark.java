package io.tapline.network.rules;

/**
 * The destination Ethernet addresses that mark the copies of a queue's packets, so that their
 * monitor knows the side of the queue that each is from: 02:7a:91 and three bytes, which are twice
 * the queue's number for arrivals, and one more for departures.
 */
public final class CopyMark {
  /** Highest number of a queue. */
  public static final int MOST = 0x7f_ffff;

  private static final long PREFIX = 0x027a_91L;
  private static final int NUMBER_BITS = 24;

  private CopyMark() {}

  /** Returns the address that marks copies of arrivals. REQUIRES: 1 <= queue <= {@link #MOST}. */
  public static long arrivals(int queue) {
    return PREFIX << NUMBER_BITS | 2L * queue;
  }

  /** Returns the address that marks copies of departures. REQUIRES: as {@link #arrivals}. */
  public static long departures(int queue) {
    return arrivals(queue) | 1;
  }

  /** Returns true if an Ethernet address is a mark. */
  public static boolean isMark(long mac) {
    return mac >>> NUMBER_BITS == PREFIX;
  }
}
