package io.tapline.compiler.rules;

import io.tapline.compiler.IpPrefix;
import java.math.BigInteger;

/**
 * An IPv4 or IPv6 prefix, or any address of either family.
 *
 * @param family 4, 6, or 0 for any address
 * @param address as a number, bits beyond the length zero
 */
public record Prefix(int family, BigInteger address, int length) {
  public static final Prefix ANY = new Prefix(0, BigInteger.ZERO, 0);

  static Prefix all(int family) {
    return new Prefix(family, BigInteger.ZERO, 0);
  }

  public static Prefix of(IpPrefix prefix) {
    int family = prefix.isIpv6() ? 6 : 4;
    return new Prefix(family, new BigInteger(1, prefix.address()), prefix.length());
  }

  /**
   * Reads "10.0.0.0/8", "10.0.0.1" or, if empty, any address.
   *
   * @throws IllegalArgumentException if it is not that
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

  private int width() {
    return family == 4 ? 32 : 128;
  }

  int bits() {
    return family == 0 ? 0 : length;
  }

  public boolean covers(Prefix other) {
    return family == 0
        || family == other.family
            && length <= other.length
            && other
                .address
                .shiftRight(width() - length)
                .equals(address.shiftRight(width() - length));
  }

  public boolean overlaps(Prefix other) {
    return covers(other) || other.covers(this);
  }

  /** The narrower of the two. REQUIRES: they overlap. */
  public Prefix and(Prefix other) {
    return covers(other) ? other : this;
  }

  /** The prefix of which these two are the halves, or null. */
  Prefix joined(Prefix other) {
    boolean same = family == other.family && family != 0 && length == other.length && length > 0;
    if (!same) {
      return null;
    }
    BigInteger last = BigInteger.ONE.shiftLeft(width() - length);
    return address.xor(other.address).equals(last)
        ? new Prefix(family, address.andNot(last), length - 1)
        : null;
  }

  /** "10.0.0.0/8"; empty if any address. */
  @Override
  public String toString() {
    if (length == 0) {
      return "";
    }
    byte[] bytes = new byte[width() / 8];
    byte[] number = address.toByteArray();
    for (int i = 0; i < Math.min(bytes.length, number.length); i++) {
      bytes[bytes.length - 1 - i] = number[number.length - 1 - i];
    }
    return new IpPrefix(bytes, length).toString();
  }
}
