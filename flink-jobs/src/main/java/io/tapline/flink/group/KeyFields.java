package io.tapline.flink.group;

import java.math.BigInteger;
import java.net.InetAddress;
import java.net.UnknownHostException;
import java.nio.ByteBuffer;
import java.nio.CharBuffer;
import java.nio.charset.CharsetDecoder;
import java.nio.charset.CoderResult;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;

/** Decodes keys for output. */
public final class KeyFields {
  private KeyFields() {}

  /**
   * Returns each field as {@link Long}, {@link BigInteger} (2^63 and above), {@link Double}, {@link
   * Boolean} or {@link String}; null for a field without a value.
   */
  public static List<Object> read(byte[] key) {
    ByteBuffer in = ByteBuffer.wrap(key);
    List<Object> fields = new ArrayList<>();
    while (in.hasRemaining()) {
      fields.add(field(in));
    }
    return fields;
  }

  private static Object field(ByteBuffer in) {
    return switch (in.get()) {
      case Key.NONE -> null;
      case Key.U64 -> unsigned(in.getLong());
      case Key.I64 -> in.getLong() ^ Long.MIN_VALUE;
      case Key.F64 -> Double.longBitsToDouble(Key.sortable(in.getLong() ^ Long.MIN_VALUE));
      case Key.BOOL -> in.get() != 0;
      case Key.STRING -> text(Key.take(in, in.getInt()));
      default -> address(Key.take(in, in.get()));
    };
  }

  private static Object unsigned(long value) {
    if (value >= 0) {
      return value;
    }
    return new BigInteger(Long.toUnsignedString(value));
  }

  /** Decodes UTF-8; writes invalid bytes as {@code \xNN}. */
  static String text(byte[] bytes) {
    CharsetDecoder decoder = StandardCharsets.UTF_8.newDecoder();
    ByteBuffer in = ByteBuffer.wrap(bytes);
    CharBuffer out = CharBuffer.allocate(4 * bytes.length + 4);
    while (true) {
      CoderResult result = decoder.decode(in, out, true);
      if (!result.isError()) {
        return out.flip().toString();
      }
      for (int i = 0; i < result.length(); i++) {
        out.put("\\x%02x".formatted(in.get()));
      }
      decoder.reset();
    }
  }

  /**
   * Formats an IPv4 or IPv6 address (RFC 5952). Returns an empty string if there are neither 4 nor
   * 16 bytes.
   */
  public static String address(byte[] bytes) {
    if (bytes.length == 4) {
      return (bytes[0] & 0xff)
          + "."
          + (bytes[1] & 0xff)
          + "."
          + (bytes[2] & 0xff)
          + "."
          + (bytes[3] & 0xff);
    }
    return bytes.length == 16 ? shortest(groups(bytes), mapped(bytes)) : "";
  }

  private static boolean mapped(byte[] bytes) {
    try {
      return InetAddress.getByAddress(bytes).getAddress().length == 4;
    } catch (UnknownHostException e) {
      throw new IllegalArgumentException(e);
    }
  }

  private static int[] groups(byte[] bytes) {
    int[] groups = new int[8];
    for (int i = 0; i < 8; i++) {
      groups[i] = (bytes[2 * i] & 0xff) << 8 | bytes[2 * i + 1] & 0xff;
    }
    return groups;
  }

  private static String shortest(int[] groups, boolean mapped) {
    if (mapped) {
      return "::ffff:%d.%d.%d.%d"
          .formatted(groups[6] >> 8, groups[6] & 0xff, groups[7] >> 8, groups[7] & 0xff);
    }
    int start = longestZeros(groups);
    int length = zerosFrom(groups, start);
    StringBuilder text = new StringBuilder();
    for (int i = 0; i < 8; i++) {
      if (length > 1 && i == start) {
        text.append("::");
        i += length - 1;
      } else {
        boolean isFirst = text.isEmpty() || text.charAt(text.length() - 1) == ':';
        text.append(isFirst ? "" : ":").append(Integer.toHexString(groups[i]));
      }
    }
    return text.toString();
  }

  private static int longestZeros(int[] groups) {
    int best = 0;
    for (int i = 1; i < 8; i++) {
      best = zerosFrom(groups, i) > zerosFrom(groups, best) ? i : best;
    }
    return best;
  }

  private static int zerosFrom(int[] groups, int start) {
    int end = start;
    while (end < 8 && groups[end] == 0) {
      end++;
    }
    return end - start;
  }
}
