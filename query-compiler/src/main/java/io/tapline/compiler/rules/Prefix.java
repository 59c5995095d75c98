package io.tapline.compiler.rules;

import io.tapline.compiler.IpPrefix;
import java.nio.ByteBuffer;
import java.util.Arrays;

/**
 * An IPv4 or IPv6 prefix, or any address of either family.
 *
 * @param family 4, 6, or 0 for any address
 * @param high the address's first 64 bits, bits beyond the length zero; IPv4 has the first 32
 * @param low its last 64 bits
 */
public record Prefix(int family, long high, long low, int length) {
  public static final Prefix ANY = new Prefix(0, 0, 0, 0);

  static Prefix all(int family) {
    return new Prefix(family, 0, 0, 0);
  }

  public static Prefix of(IpPrefix prefix) {
    ByteBuffer bytes = ByteBuffer.allocate(16).put(prefix.address()).rewind();
    return new Prefix(prefix.isIpv6() ? 6 : 4, bytes.getLong(), bytes.getLong(), prefix.length());
  }

  /**
   * Parses "10.0.0.0/8", "10.0.0.1" or, if empty, any address.
   *
   * @throws IllegalArgumentException if the text is none of these
   */
  public static Prefix parse(String text) {
    if (text.isEmpty()) {
      return ANY;
    }
    int slash = text.indexOf('/');
    IpPrefix ip =
        IpPrefix.parse(slash < 0 ? text : text.substring(0, slash))
            .orElseThrow(() -> new IllegalArgumentException("'" + text + "' is no prefix"));
    return of(slash < 0 ? ip : ip.shortened(Integer.parseInt(text.substring(slash + 1))));
  }

  /** Returns the first bits of 64 as ones; none for fewer than 1. */
  private static long ones(int bits) {
    return bits <= 0 ? 0 : -1L << (64 - Math.min(64, bits));
  }

  int bits() {
    return family == 0 ? 0 : length;
  }

  public boolean covers(Prefix other) {
    return family == 0
        || family == other.family
            && length <= other.length
            && (other.high & ones(length)) == high
            && (other.low & ones(length - 64)) == low;
  }

  public boolean overlaps(Prefix other) {
    return covers(other) || other.covers(this);
  }

  /** Returns the narrower of the two. REQUIRES: they overlap. */
  public Prefix and(Prefix other) {
    return covers(other) ? other : this;
  }

  /** Returns the prefix whose halves these two are, or null. */
  Prefix joined(Prefix other) {
    boolean same = family == other.family && family != 0 && length == other.length && length > 0;
    if (!same) {
      return null;
    }
    long lastHigh = ones(length) ^ ones(length - 1);
    long lastLow = ones(length - 64) ^ ones(length - 65);
    return (high ^ other.high) == lastHigh && (low ^ other.low) == lastLow
        ? new Prefix(family, high & ~lastHigh, low & ~lastLow, length - 1)
        : null;
  }

  /** Returns "10.0.0.0/8"; empty for any address. */
  @Override
  public String toString() {
    if (length == 0) {
      return "";
    }
    byte[] bytes = ByteBuffer.allocate(16).putLong(high).putLong(low).array();
    return new IpPrefix(family == 4 ? Arrays.copyOf(bytes, 4) : bytes, length).toString();
  }
}
