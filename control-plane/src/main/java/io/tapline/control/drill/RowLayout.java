package io.tapline.control.drill;

import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.net.Inet6Address;
import java.net.UnknownHostException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;

/**
 * Decodes the rows of a node, as described by its schema (conditions/record/schema.h): fixed-width
 * fields one after another, with numbers in little-endian order, then a presence bit for each
 * optional field.
 */
final class RowLayout {
  private record Field(String name, String type, int bytes, int elements, int offset, int bit) {}

  private static final int BITS = 8;

  private final List<Field> fields = new ArrayList<>();
  private final int presence;
  private final int rowBytes;

  /**
   * Creates a layout.
   *
   * @throws IllegalArgumentException if the text is not a valid schema
   */
  RowLayout(String schema) {
    int offset = 0;
    int bits = 0;
    for (String line : schema.lines().toList()) {
      String[] words = line.split(" ");
      if (words.length < 4) {
        throw new IllegalArgumentException("the schema has a line that is not a field: " + line);
      }
      int bytes = Integer.parseInt(words[2]);
      int elements = Integer.parseInt(words[3]);
      boolean optional = words.length > 4 && words[4].equals("optional");
      fields.add(new Field(words[0], words[1], bytes, elements, offset, optional ? bits++ : -1));
      offset += bytes * elements;
    }
    presence = offset;
    rowBytes = offset + (bits + BITS - 1) / BITS;
  }

  int rowBytes() {
    return rowBytes;
  }

  /**
   * Returns a row as JSON, without missing fields and without the captured frame. The names of time
   * fields end in {@code _ns}.
   */
  ObjectNode json(ByteBuffer rows, int offset) {
    rows.order(ByteOrder.LITTLE_ENDIAN);
    ObjectNode json = JsonNodeFactory.instance.objectNode();
    for (Field field : fields) {
      if (isPresent(field, rows, offset) && !field.name.startsWith("frame")) {
        if (field.elements == 1) {
          put(json, field, rows, offset + field.offset);
        } else {
          json.set(field.name, list(field, rows, offset + field.offset));
        }
      }
    }
    return json;
  }

  /** Returns the elements up to the last nonzero one; elements after it are unset. */
  private static ArrayNode list(Field field, ByteBuffer rows, int offset) {
    ArrayNode list = JsonNodeFactory.instance.arrayNode();
    int used = 0;
    for (int i = 0; i < field.elements; i++) {
      ObjectNode element = JsonNodeFactory.instance.objectNode();
      put(element, field, rows, offset + i * field.bytes);
      list.add(element.elements().next());
      used = isZero(field, rows, offset + i * field.bytes) ? used : i + 1;
    }
    while (list.size() > used) {
      list.remove(list.size() - 1);
    }
    return list;
  }

  private static boolean isZero(Field field, ByteBuffer rows, int offset) {
    for (int i = 0; i < field.bytes; i++) {
      if (rows.get(offset + i) != 0) {
        return false;
      }
    }
    return true;
  }

  /** Returns the row's first time field: nanoseconds since the epoch. */
  long timeNs(ByteBuffer rows, int offset) {
    rows.order(ByteOrder.LITTLE_ENDIAN);
    for (Field field : fields) {
      if (field.type.equals("time")) {
        return rows.getLong(offset + field.offset);
      }
    }
    throw new IllegalArgumentException("the schema has no time");
  }

  private boolean isPresent(Field field, ByteBuffer rows, int offset) {
    return field.bit < 0
        || (rows.get(offset + presence + field.bit / BITS) >> field.bit % BITS & 1) == 1;
  }

  private static void put(ObjectNode json, Field field, ByteBuffer rows, int offset) {
    switch (field.type) {
      case "time" -> json.put(field.name + "_ns", rows.getLong(offset));
      case "bool" -> json.put(field.name, rows.get(offset) != 0);
      case "u8" -> json.put(field.name, Byte.toUnsignedInt(rows.get(offset)));
      case "u16" -> json.put(field.name, Short.toUnsignedInt(rows.getShort(offset)));
      case "u32" -> json.put(field.name, Integer.toUnsignedLong(rows.getInt(offset)));
      // Some readers lose precision beyond 53 bits of a JSON number, so the value is a hexadecimal
      // string, like flow IDs in tuples, unless it is a time.
      case "u64" -> putLong(json, field.name, rows.getLong(offset));
      case "i8" -> json.put(field.name, rows.get(offset));
      case "i16" -> json.put(field.name, rows.getShort(offset));
      case "i32" -> json.put(field.name, rows.getInt(offset));
      case "i64" -> json.put(field.name, rows.getLong(offset));
      case "f32" -> json.put(field.name, rows.getFloat(offset));
      case "f64" -> json.put(field.name, rows.getDouble(offset));
      case "ipv4" -> json.put(field.name, v4(rows.getInt(offset)));
      case "ipv6" -> json.put(field.name, v6(bytes(rows, offset, field.bytes)));
      case "mac" ->
          json.put(
              field.name, HexFormat.ofDelimiter(":").formatHex(bytes(rows, offset, field.bytes)));
      default -> json.put(field.name, text(field, bytes(rows, offset, field.bytes)));
    }
  }

  private static String text(Field field, byte[] bytes) {
    return TapNames.contain(field.name) ? TapNames.text(bytes) : HexFormat.of().formatHex(bytes);
  }

  private static void putLong(ObjectNode json, String name, long value) {
    if (name.endsWith("_ns")) {
      json.put(name, value);
    } else {
      json.put(name, HexFormat.of().toHexDigits(value));
    }
  }

  private static byte[] bytes(ByteBuffer rows, int offset, int count) {
    byte[] bytes = new byte[count];
    rows.get(offset, bytes);
    return bytes;
  }

  private static String v4(int address) {
    return (address >>> 24)
        + "."
        + (address >>> 16 & 255)
        + "."
        + (address >>> 8 & 255)
        + "."
        + (address & 255);
  }

  private static String v6(byte[] address) {
    try {
      // InetAddress would turn ::ffff:10.0.0.1 into an IPv4 address, a different address.
      return Inet6Address.getByAddress(null, address, -1).getHostAddress();
    } catch (UnknownHostException e) {
      throw new IllegalArgumentException(e);
    }
  }
}
