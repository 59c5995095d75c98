package io.tapline.network.rules;

/**
 * The destination Ethernet addresses that mark copies. Copies of a queue's packets name the side of
 * the queue: 02:7a:91 and three bytes, which are twice the queue's number for arrivals, and one
 * more for departures. Copies of all of a switch's traffic name the packet's ports: 02:7a:92, 12
 * bits for the port of entry, and 12 bits for the port by which the packet leaves. Copies that take
 * a separate queue begin with 02:7a:93 instead.
 */
public final class CopyMark {
  /** Highest number of a queue. */
  public static final int MAX_MARK = 0x7f_ffff;

  /** Highest number of a port that marks can name; 0 stands for an unknown port. */
  public static final int MAX_PORT = 0xfff;

  private static final long PREFIX = 0x027a_91L;
  private static final long PORTS_PREFIX = 0x027a_92L;
  private static final long PREFERRED = 1L << 24;
  private static final int PORT_BITS = 12;
  private static final int NUMBER_BITS = 24;

  private CopyMark() {}

  /**
   * Returns the address that marks copies of arrivals. REQUIRES: 1 <= queue <= {@link #MAX_MARK}.
   */
  public static long arrivals(int queue) {
    return PREFIX << NUMBER_BITS | 2L * queue;
  }

  /**
   * Returns the address that marks copies of departures. REQUIRES: the same as {@link #arrivals}.
   */
  public static long departures(int queue) {
    return arrivals(queue) | 1;
  }

  /**
   * Returns the address that marks copies with ports of their switch. REQUIRES: both are at most
   * {@link #MAX_PORT}.
   *
   * @param in port of entry; 0 for unknown
   * @param out port by which the packet leaves; 0 for unknown
   */
  public static long ports(int in, int out) {
    return PORTS_PREFIX << NUMBER_BITS | (long) in << PORT_BITS | out;
  }

  /**
   * Returns the address that marks copies with the same ports in the separate queue of their mirror
   * port. REQUIRES: {@link #isPorts}.
   */
  public static long preferred(long mark) {
    return mark | PREFERRED;
  }

  /** Returns true if an Ethernet address marks the copies of a queue. */
  public static boolean isMark(long mac) {
    return mac >>> NUMBER_BITS == PREFIX;
  }

  /** Returns true if an Ethernet address marks copies with their ports, in either queue. */
  public static boolean isPorts(long mac) {
    return (mac & ~PREFERRED) >>> NUMBER_BITS == PORTS_PREFIX;
  }
}
