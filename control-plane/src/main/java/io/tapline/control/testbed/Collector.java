package io.tapline.control.testbed;

/**
 * A namespace that receives the copies of all switches, with a separate interface for each switch.
 *
 * @param mirrorMbit rate of the switches' ports to the collector; 0 for no limit
 * @param queueUs time in microseconds that a full queue of such a port takes to send; longer if the
 *     minimum queue length, 8 kB, takes longer
 */
public record Collector(int mirrorMbit, int queueUs) {
  /** Name of the collector's agent. */
  public static final String NAME = "collector";

  /** Default of {@code queueUs}. */
  public static final int QUEUE_US = 300;

  /** DPDK memory per tap; half of it is used for packet buffers. */
  static final int MEMORY_MIB = 32;

  /** Maximum number of taps per monitor. */
  private static final int MAX_SWITCHES = 64;

  /** Number of a mirror port's queue for copies of segments that open or close TCP connections. */
  static final int PREFERRED_QUEUE = 1;

  /** The share of a mirror port's rate that is reserved for {@link #PREFERRED_QUEUE}. */
  private static final double PREFERRED_SHARE = 0.05;

  private static final long BITS_PER_MBIT = 1_000_000;

  private static final int MIN_BYTES = 8_000;
  private static final int FRAME = 1514;

  public Collector {
    if (mirrorMbit < 0) {
      throw new IllegalArgumentException("the rate of a mirror port can't be negative");
    }
    if (queueUs < 1) {
      throw new IllegalArgumentException("a mirror port's queue must be at least 1 us long");
    }
  }

  void requireTaps(int switches) {
    if (switches > MAX_SWITCHES) {
      throw new IllegalArgumentException(
          "a collector has at most %d taps, and the fat tree has %d switches: choose a smaller --k"
              .formatted(MAX_SWITCHES, switches));
    }
  }

  /** Returns true if the ports have a limited rate, and therefore queues. */
  boolean hasQueues() {
    return mirrorMbit > 0;
  }

  /** Returns the rate in bits per second that a port guarantees to preferred copies. */
  long preferredRate() {
    return (long) (mirrorMbit * BITS_PER_MBIT * PREFERRED_SHARE);
  }

  /** Returns the rate in bits per second that a port guarantees to all other copies. */
  long otherRate() {
    return mirrorMbit * BITS_PER_MBIT - preferredRate();
  }

  /** Returns the length of a port's queue in full frames, rounded up. */
  int queuePackets() {
    long bytes = Math.max(MIN_BYTES, (long) mirrorMbit * queueUs / 8);
    return (int) ((bytes + FRAME - 1) / FRAME);
  }
}
