package io.tapline.conditions;

import io.tapline.schema.proto.Column;
import io.tapline.schema.proto.ConditionTree;
import io.tapline.schema.proto.ConditionTree.Comparison;
import io.tapline.schema.proto.ConditionTree.Literal;
import io.tapline.schema.proto.ConditionTree.Membership;
import io.tapline.schema.proto.ConditionTree.Node;
import io.tapline.schema.proto.ConditionTree.Order;
import io.tapline.schema.proto.ConditionTree.Term;
import java.math.BigInteger;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.function.Function;
import java.util.function.Predicate;

/** Makes the leaves of a program: checks types, and reads words by the field next to them. */
final class Leaves {
  private static final int MAX_TERMS = 16;

  private final Function<String, Optional<Column.Type>> types;
  private final List<String> fields = new ArrayList<>();

  /** A field's number in the program and its type; null if rows never have it. */
  private record Field(int number, Column.Type type) {
    boolean isNumber() {
      return type != Column.Type.STRING && type != Column.Type.ADDRESS;
    }
  }

  /** A field or a number with its sign. */
  private record Operand(int sign, Field field, Literal literal, int at) {}

  Leaves(Function<String, Optional<Column.Type>> types) {
    this.types = types;
  }

  List<String> fields() {
    return fields;
  }

  ConditionProgram.Leaf leaf(Node node, boolean negated) throws ConditionException {
    return switch (node.getKindCase()) {
      case PRESENT -> present(field(node.getPresent()), negated);
      case MEMBERSHIP -> membership(node.getMembership(), negated, node.getAt());
      default -> comparison(node.getComparison(), negated, node.getAt());
    };
  }

  private Field field(ConditionTree.Field field) throws ConditionException {
    if (field.hasElement()) {
      throw new ConditionException(field.getAt(), "field " + field.getName() + " is no list");
    }
    int number = fields.indexOf(field.getName());
    if (number < 0) {
      fields.add(field.getName());
      number = fields.size() - 1;
    }
    return new Field(number, types.apply(field.getName()).orElse(null));
  }

  /** A leaf that is unknown without one of its fields. */
  private static ConditionProgram.Leaf unlessAbsent(
      List<Field> fields, boolean negated, Predicate<ConditionProgram.Row> test) {
    int[] numbers = fields.stream().mapToInt(Field::number).toArray();
    boolean never = fields.stream().anyMatch(field -> field.type() == null);
    return new ConditionProgram.Leaf() {
      @Override
      public boolean holds(ConditionProgram.Row row) {
        if (never) {
          return false;
        }
        for (int number : numbers) {
          if (!row.isPresent(number)) {
            return false;
          }
        }
        return test.test(row) != negated;
      }

      @Override
      public List<Integer> fields() {
        return Arrays.stream(numbers).boxed().toList();
      }
    };
  }

  private static ConditionProgram.Leaf present(Field field, boolean negated) {
    return new ConditionProgram.Leaf() {
      @Override
      public boolean holds(ConditionProgram.Row row) {
        return (field.type() != null && row.isPresent(field.number())) != negated;
      }

      @Override
      public List<Integer> fields() {
        return List.of(field.number());
      }
    };
  }

  private ConditionProgram.Leaf membership(Membership membership, boolean negated, int at)
      throws ConditionException {
    Field field = field(membership.getField());
    if (membership.getAnyElement()) {
      throw new ConditionException(at, "field " + membership.getField().getName() + " is no list");
    }
    if (membership.hasPattern()) {
      AddressRange pattern = AddressRange.like(membership.getPattern());
      require(field, Column.Type.ADDRESS, membership.getPattern().getAt());
      return addresses(field, List.of(pattern), negated);
    }
    if (membership.getRangesCount() == 0 || membership.getRangesCount() > Trees.MAX_LEAVES) {
      throw new ConditionException(at, "1 to " + Trees.MAX_LEAVES + " values are compared");
    }
    if (field.type() == Column.Type.STRING) {
      List<byte[]> texts = new ArrayList<>();
      for (ConditionTree.Range range : membership.getRangesList()) {
        if (range.hasHigh()) {
          throw new ConditionException(range.getHigh().getAt(), "texts have no order");
        }
        texts.add(text(range.getLow()));
      }
      return texts(field, texts, negated);
    } else if (field.type() == Column.Type.ADDRESS) {
      List<AddressRange> ranges = new ArrayList<>();
      for (ConditionTree.Range range : membership.getRangesList()) {
        ranges.add(AddressRange.of(range));
      }
      return addresses(field, ranges, negated);
    } else if (field.type() == null) {
      return unlessAbsent(List.of(field), negated, row -> false);
    }
    List<KeyRange> ranges = new ArrayList<>();
    for (ConditionTree.Range range : membership.getRangesList()) {
      long low = key(field, number(range.getLow()), range.getLow().getAt());
      long high =
          range.hasHigh() ? key(field, number(range.getHigh()), range.getHigh().getAt()) : low;
      if (Long.compareUnsigned(low, high) > 0) {
        throw new ConditionException(range.getLow().getAt(), "the range ends before it begins");
      }
      ranges.add(new KeyRange(low, high));
    }
    return keys(field, ranges, negated);
  }

  private static void require(Field field, Column.Type type, int at) throws ConditionException {
    if (field.type() != null && field.type() != type) {
      throw new ConditionException(at, "the field is no " + type.name().toLowerCase(Locale.ROOT));
    }
  }

  private static ConditionProgram.Leaf texts(Field field, List<byte[]> texts, boolean negated) {
    return unlessAbsent(
        List.of(field),
        negated,
        row -> {
          byte[] bytes = row.bytes(field.number());
          return texts.stream().anyMatch(text -> Arrays.equals(text, bytes));
        });
  }

  private static ConditionProgram.Leaf addresses(
      Field field, List<AddressRange> ranges, boolean negated) {
    return unlessAbsent(
        List.of(field),
        negated,
        row -> {
          byte[] key = AddressRange.key(row.bytes(field.number()));
          return ranges.stream().anyMatch(range -> range.holds(key));
        });
  }

  /** Values of a field as unsigned keys in the order of the values, both inclusive. */
  private record KeyRange(long low, long high) {}

  /** A number in one of some ranges. */
  private record Numbers(Field field, long[] lows, long[] widths, boolean negated)
      implements ConditionProgram.NumberLeaf {
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

    /** One range of whole numbers is by far the most frequent case, and one comparison a row. */
    @Override
    public boolean[] holds(long[] bits, boolean[] absent) {
      boolean[] holds = new boolean[bits.length];
      if (lows.length == 1
          && (field.type() == Column.Type.U64 || field.type() == Column.Type.I64)) {
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

  private static ConditionProgram.Leaf keys(Field field, List<KeyRange> ranges, boolean negated) {
    return new Numbers(
        field,
        ranges.stream().mapToLong(KeyRange::low).toArray(),
        ranges.stream().mapToLong(range -> range.high() - range.low()).toArray(),
        negated);
  }

  private static long key(Column.Type type, long bits) {
    return switch (type) {
      case I64 -> bits ^ Long.MIN_VALUE;
      case F64 -> Number.key(Double.longBitsToDouble(bits));
      case BOOL -> bits != 0 ? 1 : 0;
      default -> bits;
    };
  }

  private static long key(Field field, Number number, int at) throws ConditionException {
    if (field.type() == Column.Type.F64) {
      return Number.key(number.asDouble());
    } else if (number.isReal()) {
      throw new ConditionException(at, "a whole number is wanted here");
    }
    boolean fits =
        switch (field.type()) {
          case I64 -> number.whole().bitLength() < Long.SIZE;
          case BOOL -> number.whole().signum() >= 0 && number.whole().bitLength() <= 1;
          default -> number.whole().signum() >= 0 && number.whole().bitLength() <= Long.SIZE;
        };
    if (!fits) {
      throw new ConditionException(at, "out of range for a field of its type");
    }
    return key(field.type(), number.whole().longValue());
  }

  private static Number number(Literal literal) throws ConditionException {
    if (literal.hasText()) {
      throw new ConditionException(literal.getAt(), "a number is wanted here");
    }
    return Number.parse(literal.getWord(), literal.getAt());
  }

  /** A word beside a text is a text: plans of the version before do not tell the two apart. */
  private static byte[] text(Literal literal) {
    return literal.hasText()
        ? literal.getText().toByteArray()
        : literal.getWord().getBytes(StandardCharsets.UTF_8);
  }

  private ConditionProgram.Leaf comparison(Comparison comparison, boolean negated, int at)
      throws ConditionException {
    List<Operand> left = sum(comparison.getLeftList(), at);
    List<Operand> right = sum(comparison.getRightList(), at);
    Order order = comparison.getOrder();
    if (left.stream().allMatch(Leaves::isLiteral)) {
      if (right.stream().allMatch(Leaves::isLiteral)) {
        throw new ConditionException(at, "a comparison needs a field");
      }
      return compared(right, mirrored(order), left, negated);
    }
    return compared(left, order, right, negated);
  }

  private List<Operand> sum(List<Term> terms, int at) throws ConditionException {
    if (terms.isEmpty() || terms.size() > MAX_TERMS) {
      throw new ConditionException(at, "1 to " + MAX_TERMS + " terms are compared");
    }
    List<Operand> sum = new ArrayList<>();
    for (Term term : terms) {
      int sign = term.getNegative() ? -1 : 1;
      switch (term.getValueCase()) {
        case FIELD ->
            sum.add(new Operand(sign, field(term.getField()), null, term.getField().getAt()));
        case LITERAL ->
            sum.add(new Operand(sign, null, term.getLiteral(), term.getLiteral().getAt()));
        default ->
            throw new ConditionException(
                term.getAggregate().getAt(),
                "unknown field '" + term.getAggregate().getName() + "'");
      }
    }
    return sum;
  }

  private static boolean isLiteral(Operand operand) {
    return operand.field() == null;
  }

  private static boolean isOneField(List<Operand> sum) {
    return sum.size() == 1 && !isLiteral(sum.get(0)) && sum.get(0).sign() > 0;
  }

  private static Order mirrored(Order order) {
    return switch (order) {
      case LESS -> Order.GREATER;
      case LESS_OR_EQUAL -> Order.GREATER_OR_EQUAL;
      case GREATER -> Order.LESS;
      case GREATER_OR_EQUAL -> Order.LESS_OR_EQUAL;
      default -> order;
    };
  }

  private static ConditionProgram.Leaf compared(
      List<Operand> left, Order order, List<Operand> right, boolean negated)
      throws ConditionException {
    if (isOneField(left) && right.stream().allMatch(Leaves::isLiteral)) {
      return withLiteral(left.get(0).field(), order, right, negated);
    } else if (isOneField(left) && isOneField(right)) {
      Field a = left.get(0).field();
      Field b = right.get(0).field();
      boolean numbers = a.isNumber() && b.isNumber();
      if (a.type() != null && b.type() != null && !numbers) {
        return pair(a, order, b, negated, right.get(0).at());
      }
    }
    return linear(left, order, right, negated);
  }

  private static ConditionProgram.Leaf pair(Field a, Order order, Field b, boolean negated, int at)
      throws ConditionException {
    if (a.type() != b.type()) {
      throw new ConditionException(at, "can't compare " + a.type() + " with " + b.type());
    }
    boolean address = a.type() == Column.Type.ADDRESS;
    if (!address && order != Order.EQUAL && order != Order.NOT_EQUAL) {
      throw new ConditionException(at, "texts have no order");
    }
    return unlessAbsent(
        List.of(a, b),
        negated,
        row -> {
          byte[] x = row.bytes(a.number());
          byte[] y = row.bytes(b.number());
          int compared =
              address
                  ? Arrays.compareUnsigned(AddressRange.key(x), AddressRange.key(y))
                  : Arrays.compareUnsigned(x, y);
          return holds(order, compared);
        });
  }

  private static boolean holds(Order order, int compared) {
    return switch (order) {
      case NOT_EQUAL -> compared != 0;
      case LESS -> compared < 0;
      case LESS_OR_EQUAL -> compared <= 0;
      case GREATER -> compared > 0;
      case GREATER_OR_EQUAL -> compared >= 0;
      default -> compared == 0;
    };
  }

  private static ConditionProgram.Leaf withLiteral(
      Field field, Order order, List<Operand> values, boolean negated) throws ConditionException {
    boolean equality = order == Order.EQUAL || order == Order.NOT_EQUAL;
    boolean inverted = negated != (order == Order.NOT_EQUAL);
    Operand first = values.get(0);
    if (field.type() == null) {
      return unlessAbsent(List.of(field), negated, row -> false);
    } else if (!field.isNumber() && (values.size() > 1 || first.sign() < 0)) {
      throw new ConditionException(first.at(), "no arithmetic with a field of its type");
    } else if (field.type() == Column.Type.STRING) {
      if (!equality) {
        throw new ConditionException(first.at(), "texts have no order");
      }
      return texts(field, List.of(text(first.literal())), inverted);
    } else if (field.type() == Column.Type.ADDRESS) {
      return equality
          ? addresses(field, List.of(AddressRange.of(first.literal())), inverted)
          : addressOrder(field, order, AddressRange.one(first.literal()), negated);
    }
    Number sum = Number.ZERO;
    for (Operand value : values) {
      sum = sum.plus(value.sign(), number(value.literal()));
    }
    long key = key(field, sum, first.at());
    return equality
        ? keys(field, List.of(new KeyRange(key, key)), inverted)
        : keys(field, ordered(field, order, key), negated);
  }

  /** Returns the keys below or above one; a double that is no number is in no order. */
  private static List<KeyRange> ordered(Field field, Order order, long key) {
    boolean real = field.type() == Column.Type.F64;
    long least = real ? Number.key(Double.NEGATIVE_INFINITY) : 0;
    long most = real ? Number.key(Double.POSITIVE_INFINITY) : -1;
    return switch (order) {
      case LESS -> key == least ? List.of() : List.of(new KeyRange(least, key - 1));
      case LESS_OR_EQUAL -> List.of(new KeyRange(least, key));
      case GREATER -> key == most ? List.of() : List.of(new KeyRange(key + 1, most));
      default -> List.of(new KeyRange(key, most));
    };
  }

  private static ConditionProgram.Leaf addressOrder(
      Field field, Order order, byte[] key, boolean negated) {
    return unlessAbsent(
        List.of(field),
        negated,
        row -> {
          byte[] own = AddressRange.key(row.bytes(field.number()));
          return holds(order, Arrays.compareUnsigned(own, key));
        });
  }

  /** A sum of fields, compared with a constant. A sum that is no number is unknown. */
  private static ConditionProgram.Leaf linear(
      List<Operand> left, Order order, List<Operand> right, boolean negated)
      throws ConditionException {
    List<Operand> terms = new ArrayList<>();
    Number constant = Number.ZERO;
    for (List<Operand> side : List.of(left, right)) {
      int flip = side == left ? 1 : -1;
      for (Operand operand : side) {
        int sign = flip * operand.sign();
        if (isLiteral(operand)) {
          constant = constant.plus(sign, number(operand.literal()));
        } else if (operand.field().type() != null && !operand.field().isNumber()) {
          throw new ConditionException(operand.at(), "no arithmetic with a field of its type");
        } else {
          terms.add(new Operand(sign, operand.field(), null, operand.at()));
        }
      }
    }
    return new Linear(terms.stream().map(Operand::field).toList(), terms, constant, order, negated)
        .leaf();
  }

  /** A linear comparison. Whole numbers are added exactly. */
  private record Linear(
      List<Field> fields, List<Operand> terms, Number constant, Order order, boolean negated) {
    ConditionProgram.Leaf leaf() {
      boolean never = fields.stream().anyMatch(field -> field.type() == null);
      List<Integer> numbers = fields.stream().map(Field::number).distinct().toList();
      return new ConditionProgram.Leaf() {
        @Override
        public boolean holds(ConditionProgram.Row row) {
          return !never && Linear.this.holds(row);
        }

        @Override
        public List<Integer> fields() {
          return numbers;
        }
      };
    }

    private boolean holds(ConditionProgram.Row row) {
      BigInteger whole = constant.isReal() ? BigInteger.ZERO : constant.whole();
      double real = constant.isReal() ? constant.real() : 0;
      boolean isReal = constant.isReal();
      for (Operand term : terms) {
        Field field = term.field();
        if (!row.isPresent(field.number())) {
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
        return Leaves.holds(order, whole.signum()) != negated;
      }
      double sum = real + whole.doubleValue();
      return !Double.isNaN(sum) && Leaves.holds(order, sum > 0 ? 1 : sum < 0 ? -1 : 0) != negated;
    }

    private static BigInteger whole(Column.Type type, long bits) {
      return switch (type) {
        case U64 -> new BigInteger(Long.toUnsignedString(bits));
        case BOOL -> BigInteger.valueOf(bits != 0 ? 1 : 0);
        default -> BigInteger.valueOf(bits);
      };
    }
  }
}
