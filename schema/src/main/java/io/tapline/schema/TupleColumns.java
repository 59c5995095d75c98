package io.tapline.schema;

import static io.tapline.schema.BatchReaderException.malformed;

import com.google.protobuf.ByteString;
import io.tapline.schema.proto.Column;
import io.tapline.schema.proto.TupleBatch;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.HashMap;
import java.util.Map;

/**
 * The columns of one batch, decoded on demand into arrays with one number per row.
 *
 * <p>Sizes are checked on creation, and numbers when a column is decoded. An inconsistent batch
 * causes a {@link BatchReaderException}, never a wrong value or another exception. Not thread-safe.
 */
public final class TupleColumns {
  /**
   * Maximum number of rows. No genuine batch has so many; the limit bounds the memory that a
   * hostile record can make a reader allocate.
   */
  public static final int MAX_ROWS = 1 << 22;

  private static final VarHandle SHORT = view(short[].class);
  private static final VarHandle INT = view(int[].class);
  private static final VarHandle LONG = view(long[].class);

  private final TupleBatch batch;

  /** Columns read by {@link #longAt}, with their bytes in {@link #raw}; null for others. */
  private final Column[] sources;

  private final byte[][] raw;

  private final Map<String, Integer> indexes = new HashMap<>();

  private TupleColumns(TupleBatch batch) {
    this.batch = batch;
    this.sources = new Column[batch.getColumnsCount()];
    this.raw = new byte[batch.getColumnsCount()][];
  }

  private static VarHandle view(Class<?> arrays) {
    return MethodHandles.byteArrayViewVarHandle(arrays, ByteOrder.LITTLE_ENDIAN);
  }

  /** Returns the columns of {@code batch}, after checking their sizes, types and dictionaries. */
  public static TupleColumns of(TupleBatch batch) throws BatchReaderException {
    TupleColumns columns = new TupleColumns(batch);
    columns.checkRows();
    for (int i = 0; i < batch.getColumnsCount(); i++) {
      columns.checkColumn(batch.getColumns(i), i);
    }
    return columns;
  }

  public int rows() {
    return batch.getRows();
  }

  public int count() {
    return batch.getColumnsCount();
  }

  /** Returns the index of the column {@code name}, or -1. */
  public int index(String name) {
    return indexes.getOrDefault(name, -1);
  }

  public String name(int column) {
    return batch.getColumns(column).getName();
  }

  public Column.Type type(int column) {
    return batch.getColumns(column).getType();
  }

  /** Returns true if the column's numbers are entries of its dictionary. */
  public boolean hasDictionary(int column) {
    Column.Type type = type(column);
    return type == Column.Type.STRING || type == Column.Type.ADDRESS;
  }

  /** Returns true for each row without a value; null if every row has one, as in most columns. */
  public boolean[] absent(int column) {
    ByteString present = batch.getColumns(column).getPresent();
    return present.isEmpty() ? null : absent(present);
  }

  private boolean[] absent(ByteString present) {
    boolean[] absent = new boolean[rows()];
    boolean hasAny = false;
    for (int row = 0; row < absent.length; row++) {
      absent[row] = !isSet(present, row);
      hasAny |= absent[row];
    }
    return hasAny ? absent : null;
  }

  private static boolean isSet(ByteString bits, int row) {
    return (bits.byteAt(row / Byte.SIZE) >> row % Byte.SIZE & 1) != 0;
  }

  /** Returns true if a row has a value; for columns in which few rows are needed. */
  public boolean isPresent(int column, int row) {
    ByteString present = batch.getColumns(column).getPresent();
    return present.isEmpty() || isSet(present, row);
  }

  /**
   * Returns the 64 bits of every row: an unsigned number (U64), two's complement (I64), 0 or 1
   * (BOOL) or an IEEE 754 double (F64, see {@link Double#longBitsToDouble}). The bits of rows
   * without a value have no meaning.
   */
  public long[] longs(int column) throws BatchReaderException {
    Column source = batch.getColumns(column);
    long[] values = new long[rows()];
    decode(source, values);
    if (source.getType() == Column.Type.BOOL) {
      checkBelow(source, values, 2, "is not 0 or 1");
    }
    return values;
  }

  /**
   * Returns the dictionary entry of every row of a STRING or ADDRESS column, each from 0 to below
   * {@link #entries}; {@link #entries} itself for rows without a value.
   */
  public int[] entryOfRows(int column) throws BatchReaderException {
    Column source = batch.getColumns(column);
    long[] values = new long[rows()];
    decode(source, values);
    boolean[] absent = absent(column);
    if (absent == null) {
      checkBelow(source, values, entries(column), "is not an entry of its dictionary");
    } else {
      checkPresent(column, values, absent);
    }
    int[] entries = new int[values.length];
    for (int i = 0; i < values.length; i++) {
      entries[i] = (int) values[i];
    }
    return entries;
  }

  private void checkPresent(int column, long[] values, boolean[] absent)
      throws BatchReaderException {
    Column source = batch.getColumns(column);
    for (int row = 0; row < values.length; row++) {
      if (absent[row]) {
        values[row] = entries(column);
      } else {
        checkBelow(source, row, values[row], entries(column), "is not an entry of its dictionary");
      }
    }
  }

  /** Returns one row of {@link #longs}, unchecked; for columns in which few rows are needed. */
  public long longAt(int column, int row) {
    if (raw[column] == null) {
      sources[column] = batch.getColumns(column);
      raw[column] = sources[column].getData().toByteArray();
    }
    byte[] data = raw[column];
    int width = sources[column].getWidth();
    int node = row * width;
    long number =
        switch (width) {
          case 1 -> data[node] & 0xffL;
          case 2 -> (short) SHORT.get(data, node) & 0xffffL;
          case 4 -> (int) INT.get(data, node) & 0xffff_ffffL;
          default -> (long) LONG.get(data, node);
        };
    return sources[column].getBase() + number;
  }

  /** Returns the bytes of one row of a STRING or ADDRESS column. */
  public byte[] bytesAt(int column, int row) throws BatchReaderException {
    long entry = longAt(column, row);
    checkBelow(
        batch.getColumns(column), row, entry, entries(column), "is not an entry of its dictionary");
    return entry(column, (int) entry);
  }

  /** Returns the number of dictionary entries of a STRING or ADDRESS column. */
  public int entries(int column) {
    return batch.getColumns(column).getDictionaryEndCount();
  }

  /**
   * Returns the bytes of one dictionary entry: text as captured, or 4 or 16 bytes of an address.
   */
  public byte[] entry(int column, int entry) {
    Column source = batch.getColumns(column);
    return source
        .getDictionary()
        .substring(entryStart(column, entry), entryEnd(column, entry))
        .toByteArray();
  }

  /** Returns all entries of a dictionary, one after another. */
  public byte[] dictionary(int column) {
    return batch.getColumns(column).getDictionary().toByteArray();
  }

  /** Returns the offset of an entry in its dictionary. */
  public int entryStart(int column, int entry) {
    return entry == 0 ? 0 : entryEnd(column, entry - 1);
  }

  /** Returns the end (exclusive) of an entry in its dictionary. */
  public int entryEnd(int column, int entry) {
    return batch.getColumns(column).getDictionaryEnd(entry);
  }

  private void checkRows() throws BatchReaderException {
    int rows = batch.getRows();
    if (rows < 0 || rows > MAX_ROWS) {
      throw malformed("batch claims " + Integer.toUnsignedString(rows) + " rows");
    }
    if (rows > 0 && batch.getColumnsCount() == 0) {
      throw malformed("batch has " + rows + " rows and no columns");
    }
    double rate = batch.getSamplingRate();
    if (rows > 0 && !(rate > 0 && rate <= 1)) {
      throw malformed("sampling rate must be above 0 and at most 1, not " + rate);
    }
  }

  private void checkColumn(Column column, int index) throws BatchReaderException {
    if (indexes.put(column.getName(), index) != null) {
      throw malformed("column " + column.getName() + " occurs twice");
    }
    int width = column.getWidth();
    if (width != 1 && width != 2 && width != 4 && width != 8) {
      throw malformed(
          "column " + column.getName() + " has width " + Integer.toUnsignedString(width));
    }
    if (column.getData().size() != (long) rows() * width) {
      throw malformed(
          "column %s has %d bytes for %d rows of %d bytes"
              .formatted(column.getName(), column.getData().size(), rows(), width));
    }
    int bitmap = column.getPresent().size();
    if (bitmap != 0 && bitmap != (rows() + Byte.SIZE - 1) / Byte.SIZE) {
      throw malformed(
          "column %s has a presence map of %d bytes for %d rows"
              .formatted(column.getName(), bitmap, rows()));
    }
    checkType(column);
  }

  private static void checkType(Column column) throws BatchReaderException {
    switch (column.getType()) {
      case U64, I64, BOOL -> {}
      case F64 -> {
        if (column.getWidth() != 8 || column.getBase() != 0) {
          throw malformed("column " + column.getName() + " is F64 without width 8 and base 0");
        }
      }
      case STRING, ADDRESS -> checkDictionary(column);
      default ->
          throw malformed(
              "column " + column.getName() + " has unknown type " + column.getTypeValue());
    }
  }

  private static void checkDictionary(Column column) throws BatchReaderException {
    boolean isAddress = column.getType() == Column.Type.ADDRESS;
    int start = 0;
    for (int i = 0; i < column.getDictionaryEndCount(); i++) {
      int end = column.getDictionaryEnd(i);
      int length = end - start;
      if (end < start || end > column.getDictionary().size()) {
        throw malformed("dictionary of column " + column.getName() + " ends outside of its bytes");
      }
      // Rows without a value refer to an empty entry.
      boolean isEmpty = length == 0 && !column.getPresent().isEmpty();
      if (isAddress && length != 4 && length != 16 && !isEmpty) {
        throw malformed(
            "column " + column.getName() + " contains an address of " + length + " bytes");
      }
      start = end;
    }
    if (start != column.getDictionary().size()) {
      throw malformed("dictionary of column " + column.getName() + " has bytes beyond its end");
    }
  }

  /**
   * Decodes a column's numbers. Each width has a separate loop, so that the JIT can unroll it.
   * REQUIRES: the sizes were checked.
   */
  private static void decode(Column column, long[] values) {
    ByteBuffer data = column.getData().asReadOnlyByteBuffer().order(ByteOrder.LITTLE_ENDIAN);
    int start = data.position();
    long base = column.getBase();
    switch (column.getWidth()) {
      case 1 -> {
        for (int i = 0; i < values.length; i++) {
          values[i] = base + (data.get(start + i) & 0xffL);
        }
      }
      case 2 -> {
        for (int i = 0; i < values.length; i++) {
          values[i] = base + (data.getShort(start + 2 * i) & 0xffffL);
        }
      }
      case 4 -> {
        for (int i = 0; i < values.length; i++) {
          values[i] = base + (data.getInt(start + 4 * i) & 0xffff_ffffL);
        }
      }
      default -> {
        for (int i = 0; i < values.length; i++) {
          values[i] = base + data.getLong(start + 8 * i);
        }
      }
    }
  }

  private static void checkBelow(Column column, long[] values, long bound, String fault)
      throws BatchReaderException {
    for (int i = 0; i < values.length; i++) {
      checkBelow(column, i, values[i], bound, fault);
    }
  }

  private static void checkBelow(Column column, int row, long value, long bound, String fault)
      throws BatchReaderException {
    if (value < 0 || value >= bound) {
      throw malformed(
          "row %d of column %s is %s, which %s"
              .formatted(row, column.getName(), Long.toUnsignedString(value), fault));
    }
  }
}
