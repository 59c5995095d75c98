package io.tapline.conditions;

import io.tapline.schema.proto.Column;
import io.tapline.schema.proto.ConditionTree.Order;
import java.math.BigInteger;
import java.util.List;

/**
 * Compares a sum of fields and a constant with zero. Whole numbers are added exactly. If the sum is
 * NaN, the comparison is unknown.
 */
record SumLeaf(List<Term> terms, Number constant, Order order, boolean negated)
    implements ConditionProgram.Leaf {

  /**
   * A field in the sum.
   *
   * @param sign 1 or -1
   */
  record Term(int sign, RowField field) {}

  @Override
  public List<Integer> fields() {
    return terms.stream().map(term -> term.field().number()).distinct().toList();
  }

  @Override
  public boolean holds(ConditionProgram.Row row) {
    BigInteger whole = constant.isReal() ? BigInteger.ZERO : constant.whole();
    double real = constant.isReal() ? constant.real() : 0;
    boolean isReal = constant.isReal();
    for (Term term : terms) {
      RowField field = term.field();
      if (field.type() == null || !row.isPresent(field.number())) {
        return false;
      }
      long bits = row.bits(field.number());
      if (field.type() == Column.Type.F64) {
        isReal = true;
        real += term.sign() * Double.longBitsToDouble(bits);
      } else {
        BigInteger value = whole(field.type(), bits);
        whole = term.sign() < 0 ? whole.subtract(value) : whole.add(value);
      }
    }
    if (!isReal) {
      return Trees.holds(order, whole.signum()) != negated;
    }
    double sum = real + whole.doubleValue();
    return !Double.isNaN(sum) && Trees.holds(order, sum > 0 ? 1 : sum < 0 ? -1 : 0) != negated;
  }

  private static BigInteger whole(Column.Type type, long bits) {
    return switch (type) {
      case U64 -> new BigInteger(Long.toUnsignedString(bits));
      case BOOL -> BigInteger.valueOf(bits != 0 ? 1 : 0);
      default -> BigInteger.valueOf(bits);
    };
  }
}
