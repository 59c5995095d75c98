package io.tapline.conditions;

import io.tapline.schema.proto.Column;
import io.tapline.schema.proto.ConditionTree;
import io.tapline.schema.proto.ConditionTree.Comparison;
import io.tapline.schema.proto.ConditionTree.Literal;
import io.tapline.schema.proto.ConditionTree.Membership;
import io.tapline.schema.proto.ConditionTree.Node;
import io.tapline.schema.proto.ConditionTree.Order;
import io.tapline.schema.proto.ConditionTree.Term;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.function.Function;
import java.util.function.Predicate;

/**
 * Builds a program's leaves: checks types, and interprets each word according to the field next to
 * it.
 */
final class Leaves {
  private static final int MAX_TERMS = 16;

  private final Function<String, Optional<Column.Type>> types;
  private final List<String> fields = new ArrayList<>();

  /** A field or a literal with its sign. */
  private record Operand(int sign, RowField field, Literal literal, int at) {}

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

  private RowField field(ConditionTree.Field field) throws ConditionException {
    if (field.hasElement()) {
      throw new ConditionException(field.getAt(), "field " + field.getName() + " is not a list");
    }
    int number = fields.indexOf(field.getName());
    if (number < 0) {
      fields.add(field.getName());
      number = fields.size() - 1;
    }
    return new RowField(number, types.apply(field.getName()).orElse(null));
  }

  /** Returns a leaf that is unknown if one of its fields is absent. */
  private static ConditionProgram.Leaf unlessAbsent(
      List<RowField> fields, boolean negated, Predicate<ConditionProgram.Row> test) {
    int[] numbers = fields.stream().mapToInt(RowField::number).toArray();
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

  private static ConditionProgram.Leaf present(RowField field, boolean negated) {
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

  private ConditionProgram.Leaf membership(Membership membership, boolean negated, int position)
      throws ConditionException {
    RowField field = field(membership.getField());
    if (membership.getAnyElement()) {
      throw new ConditionException(
          position, "field " + membership.getField().getName() + " is not a list");
    }
    if (membership.hasPattern()) {
      AddressRange pattern = AddressRange.like(membership.getPattern());
      require(field, Column.Type.ADDRESS, membership.getPattern().getAt());
      return addresses(field, List.of(pattern), negated);
    }
    if (membership.getRangesCount() == 0 || membership.getRangesCount() > Trees.MAX_LEAVES) {
      throw new ConditionException(
          position, "a list must have 1 to " + Trees.MAX_LEAVES + " values");
    }
    if (field.type() == Column.Type.STRING) {
      List<byte[]> texts = new ArrayList<>();
      for (ConditionTree.Range range : membership.getRangesList()) {
        if (range.hasHigh()) {
          throw new ConditionException(range.getHigh().getAt(), "strings can't be in a range");
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
    List<RangeLeaf.KeyRange> ranges = new ArrayList<>();
    for (ConditionTree.Range range : membership.getRangesList()) {
      long low = RangeLeaf.key(field, number(range.getLow()), range.getLow().getAt());
      long high =
          range.hasHigh()
              ? RangeLeaf.key(field, number(range.getHigh()), range.getHigh().getAt())
              : low;
      if (Long.compareUnsigned(low, high) > 0) {
        throw new ConditionException(range.getLow().getAt(), "the range ends before it begins");
      }
      ranges.add(new RangeLeaf.KeyRange(low, high));
    }
    return RangeLeaf.of(field, ranges, negated);
  }

  private static void require(RowField field, Column.Type type, int position)
      throws ConditionException {
    if (field.type() != null && field.type() != type) {
      throw new ConditionException(
          position, "the field is not of type " + type.name().toLowerCase(Locale.ROOT));
    }
  }

  private static ConditionProgram.Leaf texts(RowField field, List<byte[]> texts, boolean negated) {
    return unlessAbsent(
        List.of(field),
        negated,
        row -> {
          byte[] bytes = row.bytes(field.number());
          return texts.stream().anyMatch(text -> Arrays.equals(text, bytes));
        });
  }

  private static ConditionProgram.Leaf addresses(
      RowField field, List<AddressRange> ranges, boolean negated) {
    return unlessAbsent(
        List.of(field),
        negated,
        row -> {
          byte[] key = AddressRange.key(row.bytes(field.number()));
          return ranges.stream().anyMatch(range -> range.holds(key));
        });
  }

  private static Number number(Literal literal) throws ConditionException {
    if (literal.hasText()) {
      throw new ConditionException(literal.getAt(), "expected a number");
    }
    return Number.parse(literal.getWord(), literal.getAt());
  }

  /**
   * Returns a literal as a string. Accepts a word, too, since plans of the previous version do not
   * distinguish words from strings.
   */
  private static byte[] text(Literal literal) {
    return literal.hasText()
        ? literal.getText().toByteArray()
        : literal.getWord().getBytes(StandardCharsets.UTF_8);
  }

  private ConditionProgram.Leaf comparison(Comparison comparison, boolean negated, int position)
      throws ConditionException {
    List<Operand> left = sum(comparison.getLeftList(), position);
    List<Operand> right = sum(comparison.getRightList(), position);
    Order order = comparison.getOrder();
    if (left.stream().allMatch(Leaves::isLiteral)) {
      if (right.stream().allMatch(Leaves::isLiteral)) {
        throw new ConditionException(position, "a comparison needs a field");
      }
      return compared(right, mirrored(order), left, negated);
    }
    return compared(left, order, right, negated);
  }

  private List<Operand> sum(List<Term> terms, int position) throws ConditionException {
    if (terms.isEmpty() || terms.size() > MAX_TERMS) {
      throw new ConditionException(
          position, "each side of a comparison must have 1 to " + MAX_TERMS + " terms");
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
      RowField a = left.get(0).field();
      RowField b = right.get(0).field();
      boolean numbers = a.isNumber() && b.isNumber();
      if (a.type() != null && b.type() != null && !numbers) {
        return pair(a, order, b, negated, right.get(0).at());
      }
    }
    return linear(left, order, right, negated);
  }

  private static ConditionProgram.Leaf pair(
      RowField a, Order order, RowField b, boolean negated, int position)
      throws ConditionException {
    if (a.type() != b.type()) {
      throw new ConditionException(position, "can't compare " + a.type() + " with " + b.type());
    }
    boolean isAddress = a.type() == Column.Type.ADDRESS;
    if (!isAddress && order != Order.EQUAL && order != Order.NOT_EQUAL) {
      throw new ConditionException(position, "strings can only be compared with = and !=");
    }
    return unlessAbsent(
        List.of(a, b),
        negated,
        row -> {
          byte[] x = row.bytes(a.number());
          byte[] y = row.bytes(b.number());
          int compared =
              isAddress
                  ? Arrays.compareUnsigned(AddressRange.key(x), AddressRange.key(y))
                  : Arrays.compareUnsigned(x, y);
          return Trees.holds(order, compared);
        });
  }

  private static ConditionProgram.Leaf withLiteral(
      RowField field, Order order, List<Operand> values, boolean negated)
      throws ConditionException {
    boolean isEquality = order == Order.EQUAL || order == Order.NOT_EQUAL;
    boolean inverted = negated != (order == Order.NOT_EQUAL);
    Operand first = values.get(0);
    if (field.type() == null) {
      return unlessAbsent(List.of(field), negated, row -> false);
    } else if (!field.isNumber() && (values.size() > 1 || first.sign() < 0)) {
      throw new ConditionException(first.at(), "fields of this type do not support arithmetic");
    } else if (field.type() == Column.Type.STRING) {
      if (!isEquality) {
        throw new ConditionException(first.at(), "strings can only be compared with = and !=");
      }
      return texts(field, List.of(text(first.literal())), inverted);
    } else if (field.type() == Column.Type.ADDRESS) {
      return isEquality
          ? addresses(field, List.of(AddressRange.of(first.literal())), inverted)
          : addressOrder(field, order, AddressRange.one(first.literal()), negated);
    }
    Number sum = Number.ZERO;
    for (Operand value : values) {
      sum = sum.plus(value.sign(), number(value.literal()));
    }
    long key = RangeLeaf.key(field, sum, first.at());
    return isEquality
        ? RangeLeaf.of(field, List.of(new RangeLeaf.KeyRange(key, key)), inverted)
        : RangeLeaf.ordered(field, order, key, negated);
  }

  private static ConditionProgram.Leaf addressOrder(
      RowField field, Order order, byte[] key, boolean negated) {
    return unlessAbsent(
        List.of(field),
        negated,
        row -> {
          byte[] own = AddressRange.key(row.bytes(field.number()));
          return Trees.holds(order, Arrays.compareUnsigned(own, key));
        });
  }

  private static ConditionProgram.Leaf linear(
      List<Operand> left, Order order, List<Operand> right, boolean negated)
      throws ConditionException {
    List<SumLeaf.Term> terms = new ArrayList<>();
    Number constant = Number.ZERO;
    for (List<Operand> side : List.of(left, right)) {
      int flip = side == left ? 1 : -1;
      for (Operand operand : side) {
        int sign = flip * operand.sign();
        if (isLiteral(operand)) {
          constant = constant.plus(sign, number(operand.literal()));
        } else if (operand.field().type() != null && !operand.field().isNumber()) {
          throw new ConditionException(
              operand.at(), "fields of this type do not support arithmetic");
        } else {
          terms.add(new SumLeaf.Term(sign, operand.field()));
        }
      }
    }
    return new SumLeaf(terms, constant, order, negated);
  }
}
