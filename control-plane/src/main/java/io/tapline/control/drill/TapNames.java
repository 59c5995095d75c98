package io.tapline.control.drill;

import java.nio.charset.StandardCharsets;
import java.util.HexFormat;
import java.util.Set;

/** The fields of rows that name a packet's tap: UTF-8, padded with zeros. */
public final class TapNames {
  private static final Set<String> FIELDS = Set.of("switch", "port", "side");

  private TapNames() {}

  /** Returns true if this field of a row names a tap. */
  public static boolean contain(String field) {
    return FIELDS.contains(field);
  }

  /** Returns the name in these bytes. */
  static String text(byte[] bytes) {
    int end = 0;
    while (end < bytes.length && bytes[end] != 0) {
      end++;
    }
    return new String(bytes, 0, end, StandardCharsets.UTF_8);
  }

  /**
   * Returns the value of a group's field as users write it: nodes report names in hexadecimal.
   *
   * @param value the value as a node reports it
   */
  public static String ofGroup(String field, String value) {
    return contain(field) && !value.isEmpty() ? text(HexFormat.of().parseHex(value)) : value;
  }
}
