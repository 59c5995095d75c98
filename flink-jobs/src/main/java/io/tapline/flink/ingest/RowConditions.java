package io.tapline.flink.ingest;

import io.tapline.network.IpPrefix;
import io.tapline.schema.BatchReaderException;
import io.tapline.schema.TupleColumns;
import io.tapline.schema.proto.Column;
import io.tapline.schema.proto.FieldCondition;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.List;
import java.util.function.Predicate;

/**
 * Finds the rows of a batch that meet conditions. A batch of a parser that a condition does not
 * name passes it; one that lacks the column is malformed. A row without a value meets none, since
 * the value is unknown. Each dictionary entry is evaluated once.
 */
final class RowConditions {
  private RowConditions() {}

  /** Returns the rows that meet all conditions. */
  static boolean[] meet(List<FieldCondition> conditions, String parser, TupleColumns columns)
      throws BatchReaderException {
    boolean[] kept = new boolean[columns.rows()];
    Arrays.fill(kept, true);
    for (FieldCondition condition : conditions) {
      if (condition.getParsersList().contains(parser)) {
        ask(condition, columns, kept);
      }
    }
    return kept;
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
    boolean[] absent = columns.absent(column);
    for (int row = 0; absent != null && row < kept.length; row++) {
      kept[row] &= !absent[row];
    }
  }

  /**
   * Evaluates by entry; rows without a value have the entry after the last, which meets nothing.
   */
  private static boolean[] entries(FieldCondition condition, TupleColumns columns, int column) {
    List<Predicate<byte[]>> values = values(condition, columns.type(column));
    boolean wanted = condition.getOperator() == FieldCondition.Operator.EQUAL;
    boolean[] holds = new boolean[columns.entries(column) + 1];
    for (int entry = 0; entry < holds.length - 1; entry++) {
      byte[] bytes = columns.entry(column, entry);
      boolean among = values.stream().anyMatch(value -> value.test(bytes));
      holds[entry] = among == wanted;
    }
    return holds;
  }

  private static List<Predicate<byte[]>> values(FieldCondition condition, Column.Type type) {
    boolean address = type == Column.Type.ADDRESS;
    return condition.getValuesList().stream()
        .map(value -> address ? within(value) : equal(value))
        .toList();
  }

  private static Predicate<byte[]> within(String prefix) {
    return IpPrefix.withLength(prefix)::covers;
  }

  private static Predicate<byte[]> equal(String text) {
    byte[] wanted = text.getBytes(StandardCharsets.UTF_8);
    return bytes -> Arrays.equals(wanted, bytes);
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
