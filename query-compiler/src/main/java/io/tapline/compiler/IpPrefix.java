package io.tapline.compiler;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;

/**
 * An IPv4 or IPv6 prefix with zero host bits. Parses and formats text without using a name server.
 *
 * @param address 4 or 16 bytes in network order
 * @param length bits, 0 to 32 or 128
 */
public record IpPrefix(byte[] address, int length) {
  /** A regular expression for text that looks like an IPv4 address, whatever its numbers. */
  static final String FOUR_NUMBERS = "[0-9]+(\\.[0-9]+){3}";

  private static final int GROUPS = 8;

  /**
   * Parses an address without length. IPv4: four decimal numbers. IPv6: RFC 4291 section 2.2, no
   * zone.
   */
  public static Optional<IpPrefix> parse(String text) {
    Optional<byte[]> bytes = text.contains(":") ? ipv6(text) : ipv4(text);
    return bytes.map(address -> new IpPrefix(address, address.length * 8));
  }

  public boolean isIpv6() {
    return address.length == 16;
  }

  public int longest() {
    return address.length * 8;
  }

  /**
   * Returns the prefix of this length that contains this one's address; clears the bits beyond it.
   */
  public IpPrefix shortened(int newLength) {
    byte[] masked = address.clone();
    for (int bit = newLength; bit < longest(); bit++) {
      masked[bit / 8] &= (byte) ~(0x80 >>> (bit % 8));
    }
    return new IpPrefix(masked, newLength);
  }

  private static Optional<byte[]> ipv4(String text) {
    byte[] bytes = new byte[4];
    int at = 0;
    for (int i = 0; i < bytes.length; i++) {
      int end = i == bytes.length - 1 ? text.length() : text.indexOf('.', at);
      int number = end < 0 ? -1 : octet(text, at, end);
      if (number < 0) {
        return Optional.empty();
      }
      bytes[i] = (byte) number;
      at = end + 1;
    }
    return Optional.of(bytes);
  }

  /** Parses a number from 0 to 255 without leading zeros; returns -1 if it is not one. */
  private static int octet(String text, int begin, int end) {
    int number = 0;
    for (int i = begin; i < end; i++) {
      char c = text.charAt(i);
      if (c < '0' || c > '9') {
        return -1;
      }
      number = 10 * number + c - '0';
    }
    boolean length = end > begin && end - begin <= 3;
    boolean leadingZero = end - begin > 1 && text.charAt(begin) == '0';
    return length && !leadingZero && number <= 255 ? number : -1;
  }

  private static Optional<byte[]> ipv6(String text) {
    int gap = text.indexOf("::");
    if (gap < 0) {
      return groups(text).filter(groups -> groups.size() == GROUPS).map(IpPrefix::bytes);
    }
    Optional<List<Integer>> head = groups(text.substring(0, gap));
    Optional<List<Integer>> tail = groups(text.substring(gap + 2));
    if (head.isEmpty() || tail.isEmpty() || head.get().size() + tail.get().size() >= GROUPS) {
      return Optional.empty();
    }
    List<Integer> all = new ArrayList<>(head.get());
    while (all.size() + tail.get().size() < GROUPS) {
      all.add(0);
    }
    all.addAll(tail.get());
    return Optional.of(bytes(all));
  }

  /** Parses 16-bit groups; the last part may be an IPv4 address, which makes two. */
  private static Optional<List<Integer>> groups(String text) {
    List<Integer> groups = new ArrayList<>();
    if (text.isEmpty()) {
      return Optional.of(groups);
    }
    String[] parts = text.split(":", GROUPS + 1);
    for (int i = 0; i < parts.length; i++) {
      if (parts[i].matches("[0-9a-fA-F]{1,4}")) {
        groups.add(Integer.parseInt(parts[i], 16));
      } else if (i == parts.length - 1 && ipv4(parts[i]).isPresent()) {
        byte[] last = ipv4(parts[i]).get();
        groups.add((last[0] & 0xFF) << 8 | last[1] & 0xFF);
        groups.add((last[2] & 0xFF) << 8 | last[3] & 0xFF);
      } else {
        return Optional.empty();
      }
    }
    return Optional.of(groups);
  }

  private static byte[] bytes(List<Integer> groups) {
    byte[] bytes = new byte[2 * GROUPS];
    for (int i = 0; i < GROUPS; i++) {
      bytes[2 * i] = (byte) (groups.get(i) >> 8);
      bytes[2 * i + 1] = (byte) (int) groups.get(i);
    }
    return bytes;
  }

  /** Returns "10.0.0.0/8", "2001:db8::/32": IPv6 as RFC 5952 section 4 recommends. */
  @Override
  public String toString() {
    return addressText() + "/" + length;
  }

  String addressText() {
    if (!isIpv6()) {
      return "%d.%d.%d.%d"
          .formatted(address[0] & 0xFF, address[1] & 0xFF, address[2] & 0xFF, address[3] & 0xFF);
    }
    int[] groups = new int[GROUPS];
    for (int i = 0; i < GROUPS; i++) {
      groups[i] = (address[2 * i] & 0xFF) << 8 | address[2 * i + 1] & 0xFF;
    }
    return ipv6Text(groups);
  }

  private static String ipv6Text(int[] groups) {
    int gapBegin = 0;
    int gapLength = 1;
    for (int i = 0; i < GROUPS; i++) {
      int zeros = 0;
      while (i + zeros < GROUPS && groups[i + zeros] == 0) {
        zeros++;
      }
      if (zeros > gapLength) {
        gapBegin = i;
        gapLength = zeros;
      }
    }
    if (gapLength < 2) {
      return hex(groups, 0, GROUPS);
    }
    return hex(groups, 0, gapBegin) + "::" + hex(groups, gapBegin + gapLength, GROUPS);
  }

  private static String hex(int[] groups, int begin, int end) {
    StringBuilder text = new StringBuilder();
    for (int i = begin; i < end; i++) {
      text.append(i > begin ? ":" : "").append(Integer.toHexString(groups[i]));
    }
    return text.toString();
  }

  @Override
  public boolean equals(Object other) {
    return other instanceof IpPrefix prefix
        && length == prefix.length
        && Arrays.equals(address, prefix.address);
  }

  @Override
  public int hashCode() {
    return 31 * Arrays.hashCode(address) + length;
  }
}
