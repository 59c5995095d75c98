package io.tapline.network;

import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/** Parses and formats addresses of 4 or 16 bytes in network order, without using a name server. */
final class AddressText {
  private static final int GROUPS = 8;

  private AddressText() {}

  /**
   * Parses an IPv4 address (four decimal numbers) or an IPv6 address (RFC 4291 section 2.2, without
   * a zone).
   */
  static Optional<byte[]> parse(String text) {
    return text.contains(":") ? ipv6(text) : ipv4(text);
  }

  private static Optional<byte[]> ipv4(String text) {
    byte[] bytes = new byte[4];
    int position = 0;
    for (int i = 0; i < bytes.length; i++) {
      int end = i == bytes.length - 1 ? text.length() : text.indexOf('.', position);
      int number = end < 0 ? -1 : octet(text, position, end);
      if (number < 0) {
        return Optional.empty();
      }
      bytes[i] = (byte) number;
      position = end + 1;
    }
    return Optional.of(bytes);
  }

  /** Parses a number from 0 to 255 without leading zeros; returns -1 for other text. */
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
      return groups(text).filter(groups -> groups.size() == GROUPS).map(AddressText::bytes);
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

  /** Parses groups of 16 bits; the last part may be an IPv4 address, which counts as two groups. */
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

  /** Returns a dotted quad, or IPv6 as RFC 5952 section 4 recommends. */
  static String format(byte[] address) {
    if (address.length == 4) {
      return "%d.%d.%d.%d"
          .formatted(address[0] & 0xFF, address[1] & 0xFF, address[2] & 0xFF, address[3] & 0xFF);
    }
    int[] groups = new int[GROUPS];
    for (int i = 0; i < GROUPS; i++) {
      groups[i] = (address[2 * i] & 0xFF) << 8 | address[2 * i + 1] & 0xFF;
    }
    return format(groups);
  }

  private static String format(int[] groups) {
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
}
