package io.tapline.conditions;

import io.tapline.schema.proto.Column;
import io.tapline.schema.proto.ConditionTree.Order;
import java.util.List;

/**
 * Compares a field's key with ranges of keys. Keys are unsigned numbers that sort like the field's
 * values.
 */
record RangeLeaf(RowField field, long[] lows, long[] widths, boolean negated)
    implements ConditionProgram.NumberLeaf {

  /** Keys from {@code low} to {@code high}, both inclusive. */
  record KeyRange(long low, long high) {}

  static RangeLeaf of(RowField field, List<KeyRange> ranges, boolean negated) {
    return new RangeLeaf(
        field,
        ranges.stream().mapToLong(KeyRange::low).toArray(),
        ranges.stream().mapToLong(range -> range.high() - range.low()).toArray(),
        negated);
  }

  /**
   * Returns a leaf that compares the field with the value of a key. Its range does not contain NaN.
   */
  static RangeLeaf ordered(RowField field, Order order, long key, boolean negated) {
    boolean isReal = field.type() == Column.Type.F64;
    long min = isReal ? Number.key(Double.NEGATIVE_INFINITY) : 0;
    long max = isReal ? Number.key(Double.POSITIVE_INFINITY) : -1;
    List<KeyRange> ranges =
        switch (order) {
          case LESS -> key == min ? List.of() : List.of(new KeyRange(min, key - 1));
          case LESS_OR_EQUAL -> List.of(new KeyRange(min, key));
          case GREATER -> key == max ? List.of() : List.of(new KeyRange(key + 1, max));
          default -> List.of(new KeyRange(key, max));
        };
    return of(field, ranges, negated);
  }

  /** Returns a number's key; throws if the field's type can't represent the number. */
  static long key(RowField field, Number number, int position) throws ConditionException {
    if (field.type() == Column.Type.F64) {
      return Number.key(number.asDouble());
    } else if (number.isReal()) {
      throw new ConditionException(position, "expected a whole number");
    }
    boolean fits =
        switch (field.type()) {
          case I64 -> number.whole().bitLength() < Long.SIZE;
          case BOOL -> number.whole().signum() >= 0 && number.whole().bitLength() <= 1;
          default -> number.whole().signum() >= 0 && number.whole().bitLength() <= Long.SIZE;
        };
    if (!fits) {
      throw new ConditionException(position, "out of range for the field's type");
    }
    return key(field.type(), number.whole().longValue());
  }

  private static long key(Column.Type type, long bits) {
    return switch (type) {
      case I64 -> bits ^ Long.MIN_VALUE;
      case F64 -> Number.key(Double.longBitsToDouble(bits));
      case BOOL -> bits != 0 ? 1 : 0;
      default -> bits;
    };
  }

  @Override
  public boolean holds(ConditionProgram.Row row) {
    return row.isPresent(field.number())
        && isAmong(key(field.type(), row.bits(field.number()))) != negated;
  }

  private boolean isAmong(long key) {
    for (int i = 0; i < lows.length; i++) {
      if (Long.compareUnsigned(key - lows[i], widths[i]) <= 0) {
        return true;
      }
    }
    return false;
  }

  @Override
  public List<Integer> fields() {
    return List.of(field.number());
  }

  /**
   * Compares all rows. A single range of whole numbers is by far the most frequent case and takes
   * one comparison per row.
   */
  @Override
  public boolean[] holds(long[] bits, boolean[] absent) {
    boolean[] holds = new boolean[bits.length];
    if (lows.length == 1 && (field.type() == Column.Type.U64 || field.type() == Column.Type.I64)) {
      long flip = field.type() == Column.Type.I64 ? Long.MIN_VALUE : 0;
      long low = lows[0];
      long width = widths[0];
      for (int row = 0; row < bits.length; row++) {
        holds[row] = Long.compareUnsigned((bits[row] ^ flip) - low, width) <= 0 != negated;
      }
    } else {
      for (int row = 0; row < bits.length; row++) {
        holds[row] = isAmong(key(field.type(), bits[row])) != negated;
      }
    }
    for (int row = 0; absent != null && row < bits.length; row++) {
      holds[row] &= !absent[row];
    }
    return holds;
  }
}
