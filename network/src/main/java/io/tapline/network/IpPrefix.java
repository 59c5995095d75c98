package io.tapline.network;

import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.Optional;

/**
 * An IPv4 or IPv6 prefix, or any address of either family. Parses and formats text without using a
 * name server.
 *
 * @param family 4, 6, or 0 for any address
 * @param high first 64 bits of the address, zero beyond the length; IPv4 uses the first 32
 * @param low last 64 bits of the address
 * @param length length in bits, 0 to 32 or 128
 */
public record IpPrefix(int family, long high, long low, int length) {
  public static final IpPrefix ANY = new IpPrefix(0, 0, 0, 0);

  private static final int IPV4_BYTES = 4;
  private static final int IPV6_BYTES = 16;

  /**
   * Creates a prefix from an address in network order. REQUIRES: the bits beyond the length are
   * zero.
   *
   * @throws IllegalArgumentException if the address has neither 4 nor 16 bytes
   */
  public IpPrefix(byte[] address, int length) {
    this(familyOf(address), bits(address, 0), bits(address, Long.BYTES), length);
  }

  private static int familyOf(byte[] address) {
    return switch (address.length) {
      case IPV4_BYTES -> 4;
      case IPV6_BYTES -> 6;
      default ->
          throw new IllegalArgumentException("an address has 4 or 16 bytes, not " + address.length);
    };
  }

  /** Returns the 64 bits that begin at byte {@code offset}; bits beyond the address are zero. */
  private static long bits(byte[] address, int offset) {
    long bits = 0;
    for (int i = offset; i < offset + Long.BYTES; i++) {
      bits = bits << Byte.SIZE | (i < address.length ? address[i] & 0xff : 0);
    }
    return bits;
  }

  /** Returns the prefix of length 0, which covers all addresses of the family (any if it is 0). */
  public static IpPrefix all(int family) {
    return new IpPrefix(family, 0, 0, 0);
  }

  /**
   * Parses an address without a length: for IPv4, four decimal numbers; for IPv6, RFC 4291 section
   * 2.2, without a zone.
   */
  public static Optional<IpPrefix> parse(String text) {
    return AddressText.parse(text).map(bytes -> new IpPrefix(bytes, bytes.length * Byte.SIZE));
  }

  /**
   * Parses the forms that plans contain: "10.0.0.0/8", "10.0.0.1", or the empty string for any
   * address.
   *
   * @throws IllegalArgumentException if the text is none of these
   */
  public static IpPrefix of(String text) {
    if (text.isEmpty()) {
      return ANY;
    }
    return text.contains("/")
        ? withLength(text)
        : parse(text)
            .orElseThrow(() -> new IllegalArgumentException("'" + text + "' is not a prefix"));
  }

  /**
   * Parses a prefix such as "10.0.0.0/8"; clears the bits beyond the length.
   *
   * @throws IllegalArgumentException if the text has another form
   */
  public static IpPrefix withLength(String text) {
    int slash = text.indexOf('/');
    Optional<IpPrefix> address = parse(slash < 0 ? "" : text.substring(0, slash));
    int length;
    try {
      length = Integer.parseInt(text.substring(slash + 1));
    } catch (NumberFormatException e) {
      throw new IllegalArgumentException("'" + text + "' is not an address/length", e);
    }
    if (address.isEmpty()) {
      throw new IllegalArgumentException("'" + text + "' is not an address/length");
    } else if (length < 0 || length > address.get().longest()) {
      throw new IllegalArgumentException("'" + text + "' has an invalid prefix length");
    }
    return address.get().shortened(length);
  }

  /** Returns a 64-bit mask with {@code bits} leading ones, or 0 if {@code bits} is below 1. */
  private static long ones(int bits) {
    return bits <= 0 ? 0 : -1L << (Long.SIZE - Math.min(Long.SIZE, bits));
  }

  public boolean isIpv6() {
    return family == 6;
  }

  /** Returns the length of the family's addresses in bits. REQUIRES: the prefix has a family. */
  public int longest() {
    return Byte.SIZE * (isIpv6() ? IPV6_BYTES : IPV4_BYTES);
  }

  /**
   * Returns the prefix of this length that contains this one's address; clears the bits beyond the
   * length.
   */
  public IpPrefix shortened(int newLength) {
    return new IpPrefix(
        family, high & ones(newLength), low & ones(newLength - Long.SIZE), newLength);
  }

  public boolean covers(IpPrefix otherPrefix) {
    return family == 0
        || family == otherPrefix.family
            && length <= otherPrefix.length
            && (otherPrefix.high & ones(length)) == high
            && (otherPrefix.low & ones(length - Long.SIZE)) == low;
  }

  /** Returns true if the prefix covers this address; false if the bytes are not an address. */
  public boolean covers(byte[] address) {
    return (address.length == IPV4_BYTES || address.length == IPV6_BYTES)
        && covers(new IpPrefix(address, address.length * Byte.SIZE));
  }

  public boolean overlaps(IpPrefix otherPrefix) {
    return covers(otherPrefix) || otherPrefix.covers(this);
  }

  /** Returns the narrower of the two. REQUIRES: the two overlap. */
  public IpPrefix and(IpPrefix otherPrefix) {
    return covers(otherPrefix) ? otherPrefix : this;
  }

  /** Returns the prefix whose two halves these are, or null if there is none. */
  public IpPrefix joined(IpPrefix otherPrefix) {
    boolean isSame =
        family == otherPrefix.family && family != 0 && length == otherPrefix.length && length > 0;
    if (!isSame) {
      return null;
    }
    long lastHigh = ones(length) ^ ones(length - 1);
    long lastLow = ones(length - Long.SIZE) ^ ones(length - Long.SIZE - 1);
    return (high ^ otherPrefix.high) == lastHigh && (low ^ otherPrefix.low) == lastLow
        ? new IpPrefix(family, high & ~lastHigh, low & ~lastLow, length - 1)
        : null;
  }

  /** Returns 4 or 16 bytes in network order. REQUIRES: the prefix has a family. */
  public byte[] address() {
    byte[] bytes = ByteBuffer.allocate(IPV6_BYTES).putLong(high).putLong(low).array();
    return isIpv6() ? bytes : Arrays.copyOf(bytes, IPV4_BYTES);
  }

  /** Returns the text of the address alone. REQUIRES: the prefix has a family. */
  public String addressText() {
    return AddressText.format(address());
  }

  /** Returns text such as "10.0.0.0/8" or "2001:db8::/32"; empty for any address. */
  @Override
  public String toString() {
    return family == 0 ? "" : addressText() + "/" + length;
  }
}
