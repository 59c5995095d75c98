package io.tapline.flink.group;

import io.tapline.schema.proto.Column;
import java.util.Arrays;

/** Builds the bytes of a {@link Key} in a reusable array. Not thread-safe. */
public final class KeyBuffer {
  private byte[] bytes = new byte[64];
  private int length;

  public void clear() {
    length = 0;
  }

  /** Appends a field of type U64, I64, F64 or BOOL. */
  public void number(Column.Type type, long bits) {
    append(Key.number(type, bits));
  }

  /** Appends a field of type STRING or ADDRESS. */
  public void bytes(Column.Type type, byte[] source, int start, int end) {
    int size = end - start;
    reserve(5 + size);
    if (type == Column.Type.ADDRESS) {
      bytes[length++] = Key.ADDRESS;
    } else {
      bytes[length++] = Key.STRING;
      bytes[length++] = (byte) (size >> 24);
      bytes[length++] = (byte) (size >> 16);
      bytes[length++] = (byte) (size >> 8);
    }
    bytes[length++] = (byte) size;
    System.arraycopy(source, start, bytes, length, size);
    length += size;
  }

  /** Appends a field that is already encoded. */
  public void append(byte[] field) {
    reserve(field.length);
    System.arraycopy(field, 0, bytes, length, field.length);
    length += field.length;
  }

  private void reserve(int furtherCount) {
    if (length + furtherCount > bytes.length) {
      bytes = Arrays.copyOf(bytes, Math.max(2 * bytes.length, length + furtherCount));
    }
  }

  /** Returns the array whose first {@link #length} bytes are in use, until the next append. */
  byte[] array() {
    return bytes;
  }

  int length() {
    return length;
  }

  public long hash() {
    return Key.hash(bytes, 0, length);
  }
}
