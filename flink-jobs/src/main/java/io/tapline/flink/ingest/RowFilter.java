package io.tapline.flink.ingest;

import com.google.protobuf.ByteString;
import io.tapline.schema.BatchReaderException;
import io.tapline.schema.TupleColumns;
import io.tapline.schema.proto.Column;
import io.tapline.schema.proto.FieldCondition;
import io.tapline.schema.proto.TupleBatch;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.util.Arrays;
import java.util.List;

/**
 * The query's WHERE: leaves out the rows of a batch that fail one of its conditions. A batch of a
 * parser that a condition does not name passes it; one that lacks the column is malformed.
 * Dictionaries are asked once an entry. Thread-safe.
 */
final class RowFilter {
  private final List<FieldCondition> conditions;

  RowFilter(List<FieldCondition> conditions) {
    this.conditions = conditions;
  }

  /** The batch itself if no row is left out. */
  TupleBatch filter(TupleBatch batch) throws BatchReaderException {
    if (conditions.isEmpty()) {
      return batch;
    }
    TupleColumns columns = TupleColumns.of(batch);
    boolean[] kept = new boolean[columns.rows()];
    Arrays.fill(kept, true);
    for (FieldCondition condition : conditions) {
      if (condition.getParsersList().contains(batch.getParser())) {
        ask(condition, columns, kept);
      }
    }
    int count = 0;
    for (boolean keep : kept) {
      count += keep ? 1 : 0;
    }
    return count == kept.length ? batch : rows(batch, kept, count);
  }

  private static void ask(FieldCondition condition, TupleColumns columns, boolean[] kept)
      throws BatchReaderException {
    int column = columns.index(condition.getField());
    if (column < 0) {
      throw BatchReaderException.malformed("no column " + condition.getField());
    }
    if (columns.hasDictionary(column)) {
      boolean[] holds = entries(condition, columns, column);
      int[] entries = columns.entryOfRows(column);
      for (int row = 0; row < kept.length; row++) {
        kept[row] &= holds[entries[row]];
      }
      return;
    }
    NumberTest test = NumberTest.of(condition, columns.type(column));
    long[] values = columns.longs(column);
    for (int row = 0; row < kept.length; row++) {
      kept[row] &= test.holds(values[row]);
    }
  }

  private static boolean[] entries(FieldCondition condition, TupleColumns columns, int column) {
    boolean address = columns.type(column) == Column.Type.ADDRESS;
    boolean wanted = condition.getOperator() == FieldCondition.Operator.EQUAL;
    boolean[] holds = new boolean[columns.entries(column)];
    for (int entry = 0; entry < holds.length; entry++) {
      byte[] bytes = columns.entry(column, entry);
      boolean among =
          condition.getValuesList().stream()
              .anyMatch(
                  value ->
                      address
                          ? AddressPrefix.parse(value).covers(bytes)
                          : Arrays.equals(ByteString.copyFromUtf8(value).toByteArray(), bytes));
      holds[entry] = among == wanted;
    }
    return holds;
  }

  /** The same batch with these rows only; dictionaries stay. */
  private static TupleBatch rows(TupleBatch batch, boolean[] kept, int count) {
    TupleBatch.Builder filtered = batch.toBuilder().setRows(count).clearColumns();
    for (Column column : batch.getColumnsList()) {
      int width = column.getWidth();
      byte[] data = new byte[count * width];
      int at = 0;
      for (int row = 0; row < kept.length; row++) {
        if (kept[row]) {
          column.getData().copyTo(data, row * width, at, width);
          at += width;
        }
      }
      filtered.addColumns(column.toBuilder().setData(ByteString.copyFrom(data)));
    }
    return filtered.build();
  }

  /** A condition on numbers of one type. */
  private record NumberTest(FieldCondition.Operator operator, Column.Type type, long[] values) {
    static NumberTest of(FieldCondition condition, Column.Type type) {
      long[] values =
          condition.getValuesList().stream().mapToLong(value -> bits(value, type)).toArray();
      return new NumberTest(condition.getOperator(), type, values);
    }

    private static long bits(String value, Column.Type type) {
      return switch (type) {
        case BOOL -> value.equals("true") ? 1 : 0;
        case F64 -> Double.doubleToLongBits(Double.parseDouble(value));
        default -> new BigDecimal(value).toBigInteger().min(MOST_U64).longValue();
      };
    }

    private static final BigInteger MOST_U64 =
        BigInteger.ONE.shiftLeft(64).subtract(BigInteger.ONE);

    boolean holds(long bits) {
      return switch (operator) {
        case LESS -> order(bits, values[0]) < 0;
        case LESS_OR_EQUAL -> order(bits, values[0]) <= 0;
        case GREATER -> order(bits, values[0]) > 0;
        case GREATER_OR_EQUAL -> order(bits, values[0]) >= 0;
        case NOT_EQUAL -> !among(bits);
        default -> among(bits);
      };
    }

    private boolean among(long bits) {
      for (long value : values) {
        if (order(bits, value) == 0) {
          return true;
        }
      }
      return false;
    }

    private int order(long a, long b) {
      return switch (type) {
        case F64 -> Double.compare(Double.longBitsToDouble(a), Double.longBitsToDouble(b));
        case U64 -> Long.compareUnsigned(a, b);
        default -> Long.compare(a, b);
      };
    }
  }
}
