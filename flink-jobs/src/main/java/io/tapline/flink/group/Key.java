package io.tapline.flink.group;

import io.tapline.schema.proto.Column;
import java.nio.ByteBuffer;
import java.util.Arrays;

/**
 * A group's key as bytes: for each field a type and its value, self-delimiting.
 *
 * <pre>
 *   U64 I64 F64   type, 8 bytes big-endian; their unsigned order is that of the numbers
 *   BOOL          type, 0 or 1
 *   STRING        type, length in 4 bytes, the bytes
 *   ADDRESS       type, length in 1 byte (4 or 16), the bytes
 *   no value      type alone
 * </pre>
 */
public final class Key {
  static final byte NONE = 0;
  static final byte U64 = 1;
  static final byte I64 = 2;
  static final byte F64 = 3;
  static final byte BOOL = 4;
  static final byte STRING = 5;
  static final byte ADDRESS = 6;

  /** The key of a processor without key fields. */
  public static final byte[] EMPTY = {};

  /** The encoding of a field without a value. Tuples without a value form their own group. */
  public static final byte[] ABSENT = {NONE};

  private Key() {}

  /** Encodes a field of type U64, I64, F64 or BOOL from its bits in {@code TupleColumns.longs}. */
  public static byte[] number(Column.Type type, long bits) {
    return switch (type) {
      case I64 -> number(I64, bits ^ Long.MIN_VALUE);
      case F64 -> number(F64, sortable(bits) ^ Long.MIN_VALUE);
      case BOOL -> new byte[] {BOOL, (byte) bits};
      default -> number(U64, bits);
    };
  }

  private static byte[] number(byte type, long value) {
    return ByteBuffer.allocate(9).put(type).putLong(value).array();
  }

  /** Encodes a field of type STRING or ADDRESS. */
  public static byte[] bytes(Column.Type type, byte[] value) {
    return type == Column.Type.ADDRESS
        ? ByteBuffer.allocate(2 + value.length)
            .put(ADDRESS)
            .put((byte) value.length)
            .put(value)
            .array()
        : ByteBuffer.allocate(5 + value.length).put(STRING).putInt(value.length).put(value).array();
  }

  public static byte[] concat(byte[]... fields) {
    if (fields.length == 1) {
      return fields[0];
    }
    int length = Arrays.stream(fields).mapToInt(field -> field.length).sum();
    ByteBuffer key = ByteBuffer.allocate(length);
    for (byte[] field : fields) {
      key.put(field);
    }
    return key.array();
  }

  /**
   * Maps the bits of a double to a signed number that sorts like the double. The function is its
   * own inverse.
   */
  public static long sortable(long bits) {
    return bits ^ bits >> 63 & Long.MAX_VALUE;
  }

  /** Returns a 64-bit hash whose bits are well mixed. */
  public static long hash(byte[] key) {
    return hash(key, 0, key.length);
  }

  static long hash(byte[] key, int begin, int end) {
    long hash = 0x9e3779b97f4a7c15L ^ end - begin;
    int i = begin;
    for (; i + 8 <= end; i += 8) {
      hash = mix(hash ^ (long) LONG.get(key, i));
    }
    long tail = 0;
    for (; i < end; i++) {
      tail = tail << 8 | key[i] & 0xff;
    }
    return mix(hash ^ tail);
  }

  /** Returns a 64-bit hash of a number, whose bits are well mixed. */
  public static long hash(long value) {
    return mix(value ^ 0x9e3779b97f4a7c15L);
  }

  private static final java.lang.invoke.VarHandle LONG =
      java.lang.invoke.MethodHandles.byteArrayViewVarHandle(
          long[].class, java.nio.ByteOrder.LITTLE_ENDIAN);

  /** Applies MurmurHash3's finalizer. */
  private static long mix(long value) {
    value ^= value >>> 33;
    value *= 0xff51afd7ed558ccdL;
    value ^= value >>> 33;
    value *= 0xc4ceb9fe1a85ec53L;
    return value ^ value >>> 33;
  }

  /**
   * Compares keys field by field. An absent value sorts before all others. Numbers sort by value,
   * false before true, strings by their bytes, and addresses of four bytes before those of sixteen.
   */
  public static int compare(byte[] left, byte[] right) {
    ByteBuffer a = ByteBuffer.wrap(left);
    ByteBuffer b = ByteBuffer.wrap(right);
    while (a.hasRemaining() && b.hasRemaining()) {
      int order = compareField(a, b);
      if (order != 0) {
        return order;
      }
    }
    return a.remaining() - b.remaining();
  }

  private static int compareField(ByteBuffer a, ByteBuffer b) {
    byte type = a.get();
    byte otherType = b.get();
    if (type != otherType) {
      return type - otherType;
    }
    return switch (type) {
      case NONE -> 0;
      case U64, I64, F64 -> Long.compareUnsigned(a.getLong(), b.getLong());
      case BOOL -> a.get() - b.get();
      case STRING -> compareBytes(take(a, a.getInt()), take(b, b.getInt()));
      default -> compareAddress(take(a, a.get()), take(b, b.get()));
    };
  }

  private static int compareBytes(byte[] a, byte[] b) {
    return Arrays.compareUnsigned(a, b);
  }

  private static int compareAddress(byte[] a, byte[] b) {
    return a.length != b.length ? a.length - b.length : Arrays.compareUnsigned(a, b);
  }

  static byte[] take(ByteBuffer source, int length) {
    byte[] bytes = new byte[length];
    source.get(bytes);
    return bytes;
  }
}
