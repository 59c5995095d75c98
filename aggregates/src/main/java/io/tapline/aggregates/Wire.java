package io.tapline.aggregates;

import java.io.DataInput;
import java.io.DataOutput;
import java.io.IOException;
import java.nio.charset.StandardCharsets;

/**
 * Encodes primitives in the records between operators and in operators' state. Small numbers take
 * few bytes.
 */
public final class Wire {
  private Wire() {}

  /** Writes seven bits per byte, least significant first; negative numbers take ten bytes. */
  public static void writeUnsigned(DataOutput out, long value) throws IOException {
    while ((value & ~0x7fL) != 0) {
      out.writeByte((int) (value & 0x7f | 0x80));
      value >>>= 7;
    }
    out.writeByte((int) value);
  }

  public static long readUnsigned(DataInput in) throws IOException {
    long value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      byte next = in.readByte();
      value |= (next & 0x7fL) << shift;
      if (next >= 0) {
        return value;
      }
    }
    throw new IOException("number of more than ten bytes");
  }

  /** Writes numbers of either sign; those of small magnitude take few bytes. */
  public static void writeSigned(DataOutput out, long value) throws IOException {
    writeUnsigned(out, value << 1 ^ value >> 63);
  }

  public static long readSigned(DataInput in) throws IOException {
    long value = readUnsigned(in);
    return value >>> 1 ^ -(value & 1);
  }

  public static void writeBytes(DataOutput out, byte[] bytes) throws IOException {
    writeUnsigned(out, bytes.length);
    out.write(bytes);
  }

  public static byte[] readBytes(DataInput in) throws IOException {
    byte[] bytes = new byte[(int) readUnsigned(in)];
    in.readFully(bytes);
    return bytes;
  }

  public static void writeText(DataOutput out, String text) throws IOException {
    writeBytes(out, text.getBytes(StandardCharsets.UTF_8));
  }

  public static String readText(DataInput in) throws IOException {
    return new String(readBytes(in), StandardCharsets.UTF_8);
  }
}
