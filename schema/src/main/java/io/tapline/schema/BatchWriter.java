package io.tapline.schema;

import com.google.protobuf.ByteString;
import io.tapline.schema.proto.Column;
import io.tapline.schema.proto.TupleBatch;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * Encodes rows as the columns of a batch: minimum widths, base = minimum, dictionaries in order of
 * first appearance, so that equal rows give equal bytes. Not thread-safe. Only for tools and tests:
 * monitors have a separate writer in C++.
 */
public final class BatchWriter {
  /** One column of a parser's schema. */
  public record ColumnSpec(String name, Column.Type type, String unit) {}

  private final List<ColumnSpec> specs;
  private final List<Object[]> rows = new ArrayList<>();

  public BatchWriter(List<ColumnSpec> specs) {
    this.specs = List.copyOf(specs);
  }

  /**
   * Adds a row: {@link Long} for U64 (its bits) and I64, {@link Double} for F64, {@link Boolean}
   * for BOOL, {@link String} or {@code byte[]} for STRING, {@code byte[]} for ADDRESS; null for a
   * missing value, which is written as 0 or no bytes.
   */
  public BatchWriter row(Object... values) {
    if (values.length != specs.size()) {
      throw new IllegalArgumentException(
          values.length + " values for " + specs.size() + " columns");
    }
    rows.add(values.clone());
    return this;
  }

  public int rows() {
    return rows.size();
  }

  /** Writes the rows added so far into {@code header}, and keeps its other fields. */
  public TupleBatch write(TupleBatch.Builder header) {
    header.setRows(rows.size()).clearColumns();
    for (int i = 0; i < specs.size(); i++) {
      header.addColumns(column(i));
    }
    return header.build();
  }

  private Column column(int index) {
    ColumnSpec spec = specs.get(index);
    Column.Builder column =
        Column.newBuilder()
            .setName(spec.name())
            .setType(spec.type())
            .setUnit(spec.unit())
            .setPresent(present(index));
    long[] values =
        switch (spec.type()) {
          case STRING, ADDRESS -> entries(index, column);
          default -> numbers(index);
        };
    return spec.type() == Column.Type.F64
        ? column.setWidth(8).setData(bytes(values, 0, 8)).build()
        : narrowest(values, spec.type(), column);
  }

  /** Returns a column's validity bitmap; empty if every row has a value. */
  private ByteString present(int index) {
    byte[] bits = new byte[(rows.size() + Byte.SIZE - 1) / Byte.SIZE];
    boolean all = true;
    for (int row = 0; row < rows.size(); row++) {
      boolean isPresent = rows.get(row)[index] != null;
      bits[row / Byte.SIZE] |= (byte) (isPresent ? 1 << row % Byte.SIZE : 0);
      all &= isPresent;
    }
    return all ? ByteString.EMPTY : ByteString.copyFrom(bits);
  }

  private long[] numbers(int index) {
    return rows.stream().mapToLong(row -> bits(row[index])).toArray();
  }

  private static long bits(Object value) {
    if (value == null) {
      return 0;
    }
    if (value instanceof Boolean flag) {
      return flag ? 1 : 0;
    }
    return value instanceof Double number
        ? Double.doubleToRawLongBits(number)
        : ((Number) value).longValue();
  }

  private long[] entries(int index, Column.Builder column) {
    Map<ByteString, Long> dictionary = new LinkedHashMap<>();
    ByteString.Output bytes = ByteString.newOutput();
    long[] entries = new long[rows.size()];
    for (int i = 0; i < entries.length; i++) {
      ByteString text = text(rows.get(i)[index]);
      Long known = dictionary.putIfAbsent(text, (long) dictionary.size());
      if (known == null) {
        bytes.write(text.toByteArray(), 0, text.size());
        column.addDictionaryEnd(bytes.size());
      }
      entries[i] = dictionary.get(text);
    }
    column.setDictionary(bytes.toByteString());
    return entries;
  }

  private static ByteString text(Object value) {
    if (value == null) {
      return ByteString.EMPTY;
    }
    return value instanceof byte[] raw
        ? ByteString.copyFrom(raw)
        : ByteString.copyFrom((String) value, StandardCharsets.UTF_8);
  }

  private static Column narrowest(long[] values, Column.Type type, Column.Builder column) {
    // With the sign bit flipped, a signed comparison orders unsigned numbers.
    long flip = type == Column.Type.I64 ? 0 : Long.MIN_VALUE;
    long min = values.length == 0 ? flip : Long.MAX_VALUE;
    long max = values.length == 0 ? flip : Long.MIN_VALUE;
    for (long value : values) {
      min = Math.min(min, value ^ flip);
      max = Math.max(max, value ^ flip);
    }
    long base = min ^ flip;
    int width = width((max ^ flip) - base);
    return column.setBase(base).setWidth(width).setData(bytes(values, base, width)).build();
  }

  private static int width(long range) {
    int bits = 64 - Long.numberOfLeadingZeros(range);
    return bits <= 8 ? 1 : bits <= 16 ? 2 : bits <= 32 ? 4 : 8;
  }

  private static ByteString bytes(long[] values, long base, int width) {
    ByteBuffer buffer = ByteBuffer.allocate(values.length * width).order(ByteOrder.LITTLE_ENDIAN);
    for (long value : values) {
      long difference = value - base;
      switch (width) {
        case 1 -> buffer.put((byte) difference);
        case 2 -> buffer.putShort((short) difference);
        case 4 -> buffer.putInt((int) difference);
        default -> buffer.putLong(difference);
      }
    }
    return ByteString.copyFrom(buffer.flip());
  }
}
