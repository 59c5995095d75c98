package io.tapline.network.rules;

/**
 * The destination Ethernet addresses that mark copies. Marks of a queue's packets identify the
 * queue and its side: 02:7a:91 and three bytes with twice the queue's number for arrivals, and one
 * more for departures. If a switch copies all of its traffic, marks identify the packet's ports:
 * 02:7a:92, 12 bits for the ingress port, and 12 bits for the egress port. Marks of preferred
 * copies, which take a separate queue of the mirror port, begin with 02:7a:93 instead.
 */
public final class CopyMark {
  /** Highest queue number. */
  public static final int MAX_MARK = 0x7f_ffff;

  /** Highest port number that marks can name; 0 stands for an unknown port. */
  public static final int MAX_PORT = 0xfff;

  private static final long PREFIX = 0x027a_91L;
  private static final long PORTS_PREFIX = 0x027a_92L;
  private static final long PREFERRED = 1L << 24;
  private static final int PORT_BITS = 12;
  private static final int NUMBER_BITS = 24;

  private CopyMark() {}

  /**
   * Returns the address that marks copies of a queue's arrivals. REQUIRES: 1 <= queue <= {@link
   * #MAX_MARK}.
   */
  public static long arrivals(int queue) {
    return PREFIX << NUMBER_BITS | 2L * queue;
  }

  /**
   * Returns the address that marks copies of a queue's departures. REQUIRES: the same as {@link
   * #arrivals}.
   */
  public static long departures(int queue) {
    return arrivals(queue) | 1;
  }

  /**
   * Returns the address that marks copies with their packet's ports on the switch. REQUIRES: both
   * are at most {@link #MAX_PORT}.
   *
   * @param in ingress port; 0 for unknown
   * @param out egress port; 0 for unknown
   */
  public static long ports(int in, int out) {
    return PORTS_PREFIX << NUMBER_BITS | (long) in << PORT_BITS | out;
  }

  /**
   * Returns the mark with the same ports for preferred copies, which take a separate queue of their
   * mirror port. REQUIRES: {@link #isPorts}.
   */
  public static long preferred(long mark) {
    return mark | PREFERRED;
  }

  /** Returns true if an Ethernet address marks the copies of a queue. */
  public static boolean isMark(long mac) {
    return mac >>> NUMBER_BITS == PREFIX;
  }

  /** Returns true if an Ethernet address marks copies with their ports, preferred or not. */
  public static boolean isPorts(long mac) {
    return (mac & ~PREFERRED) >>> NUMBER_BITS == PORTS_PREFIX;
  }
}
