package io.tapline.sdn.flow;

/**
 * A flow's cookie: 16 bits that identify Tapline, 8 for the kind, 40 for the epoch in which the
 * flow was installed.
 */
public final class Cookie {
  /** Bits of the mark. */
  public static final long MARK_MASK = 0xffff_0000_0000_0000L;

  /** Bits of the mark and the kind. */
  public static final long KIND_MASK = 0xffff_ff00_0000_0000L;

  private static final long MARK = 0x7a91_0000_0000_0000L;
  private static final long EPOCH_MASK = 0xff_ffff_ffffL;
  private static final int KIND_SHIFT = 40;

  /** Purpose of a flow, which its cookie encodes. */
  public enum Kind {
    /** Sends LLDP and ARP to the controller, and all other packets to the forwarding table. */
    BASE,
    MIRROR,
    FORWARD
  }

  private Cookie() {}

  public static long of(Kind kind, long epoch) {
    return MARK | (long) (kind.ordinal() + 1) << KIND_SHIFT | epoch & EPOCH_MASK;
  }

  public static boolean isOurs(long cookie) {
    return (cookie & MARK_MASK) == MARK;
  }

  public static boolean is(Kind kind, long cookie) {
    return (cookie & KIND_MASK) == of(kind, 0);
  }

  public static long epoch(long cookie) {
    return cookie & EPOCH_MASK;
  }
}
