package io.tapline.sdn.flow;

/** Ethernet addresses as 48-bit numbers. */
public final class Mac {
  public static final long BROADCAST = 0xffff_ffff_ffffL;
  private static final int BYTES = 6;

  private Mac() {}

  public static String text(long mac) {
    StringBuilder text = new StringBuilder();
    for (int i = BYTES - 1; i >= 0; i--) {
      text.append("%02x".formatted(mac >> (8 * i) & 0xff)).append(i == 0 ? "" : ":");
    }
    return text.toString();
  }

  /** Returns true if the address can belong to one host: it is neither multicast nor all zeros. */
  public static boolean isHost(long mac) {
    return mac != 0 && (mac >> 40 & 1) == 0;
  }
}
