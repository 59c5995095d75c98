package io.tapline.compiler;

import io.tapline.compiler.catalogue.Catalogue;
import io.tapline.compiler.catalogue.FieldInfo;
import io.tapline.compiler.catalogue.FieldInfo.Type;
import io.tapline.compiler.catalogue.ParserInfo;
import io.tapline.compiler.text.Errors;
import io.tapline.compiler.text.Span;
import io.tapline.schema.proto.ConditionTree;
import io.tapline.schema.proto.ConditionTree.Comparison;
import io.tapline.schema.proto.ConditionTree.Field;
import io.tapline.schema.proto.ConditionTree.Literal;
import io.tapline.schema.proto.ConditionTree.Membership;
import io.tapline.schema.proto.ConditionTree.Node;
import io.tapline.schema.proto.ConditionTree.Not;
import io.tapline.schema.proto.ConditionTree.Order;
import io.tapline.schema.proto.ConditionTree.Range;
import io.tapline.schema.proto.ConditionTree.Term;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.stream.Stream;

/**
 * Resolves a condition against the fields of a parser. In the result, fields have their canonical
 * names, numbers are plain decimals in the field's unit, and host names are addresses. Evaluating
 * the result requires only the types of columns.
 *
 * <p>An unquoted word that is compared with a string is a string. One that is compared with an
 * address is a host of the inventory or, if there is no such host, a field. Other words are fields.
 */
final class ConditionTyper {
  private final ParserInfo parser;
  private final ParsedCondition condition;
  private final Inventory inventory;
  private final ValueReader values;
  private final Errors errors;

  ConditionTyper(ParserInfo parser, ParsedCondition condition, Inventory inventory, Errors errors) {
    this.parser = parser;
    this.condition = condition;
    this.inventory = inventory;
    this.values = new ValueReader(condition.spans(), inventory, errors);
    this.errors = errors;
  }

  /**
   * Returns a part of the condition with types; empty after an error.
   *
   * <p>REQUIRES: the parser has the fields that {@link ParsedCondition#fields} returns.
   */
  Optional<ConditionTree> typed(ConditionTree part) {
    List<Node> typed = new ArrayList<>();
    boolean valid = true;
    for (Node node : part.getNodesList()) {
      List<Node> nodes =
          switch (node.getKindCase()) {
            case PRESENT -> List.of(present(node.getPresent()));
            case MEMBERSHIP -> membership(node.getMembership());
            case COMPARISON -> comparison(node);
            default -> List.of(node.toBuilder().clearAt().build());
          };
      valid &= !nodes.isEmpty();
      typed.addAll(nodes);
    }
    return valid
        ? Optional.of(ConditionTree.newBuilder().addAllNodes(typed).build())
        : Optional.empty();
  }

  private FieldInfo info(Field field) {
    return Catalogue.field(parser, field.getName()).orElseThrow();
  }

  private static Field named(FieldInfo info) {
    return Field.newBuilder().setName(info.name()).build();
  }

  private Node present(Field field) {
    return Node.newBuilder().setPresent(named(info(field))).build();
  }

  private List<Node> membership(Membership membership) {
    FieldInfo field = info(membership.getField());
    Membership.Builder typed = Membership.newBuilder().setField(named(field));
    if (membership.getAnyElement() || membership.getField().hasElement()) {
      errors.type(span(membership.getField()), field.name() + " is not a list", "= or !=");
      return List.of();
    } else if (membership.hasPattern()) {
      if (field.type() != Type.ADDRESS) {
        errors.type(span(membership.getField()), field.name() + " is not an address", "= or !=");
        return List.of();
      }
      typed.setPattern(Literal.newBuilder().setWord(membership.getPattern().getWord()));
      return List.of(Node.newBuilder().setMembership(typed).build());
    }
    for (Range range : membership.getRangesList()) {
      List<Literal> low = values.of(range.getLow(), field);
      List<Literal> high = range.hasHigh() ? values.of(range.getHigh(), field) : low;
      if (low.isEmpty() || high.isEmpty()) {
        return List.of();
      } else if (!range.hasHigh()) {
        low.forEach(number -> typed.addRangesBuilder().setLow(number));
      } else if (!field.type().isNumeric()) {
        hasNoOrder(field, membership.getField());
        return List.of();
      } else {
        typed.addRangesBuilder().setLow(low.get(0)).setHigh(high.get(0));
      }
    }
    return List.of(Node.newBuilder().setMembership(typed).build());
  }

  private Span span(Field field) {
    return condition.spans().apply(field.getAt());
  }

  private void hasNoOrder(FieldInfo info, Field field) {
    String message = "%s can't be compared with <, > or a range".formatted(info.name());
    errors.type(span(field), message, "= or !=");
  }

  private List<Node> comparison(Node node) {
    Comparison writtenComparison = node.getComparison();
    boolean mirrored = writtenComparison.getLeftList().stream().noneMatch(Term::hasField);
    List<Term> left = mirrored ? writtenComparison.getRightList() : writtenComparison.getLeftList();
    List<Term> right =
        mirrored ? writtenComparison.getLeftList() : writtenComparison.getRightList();
    Order order = mirrored ? mirrored(writtenComparison.getOrder()) : writtenComparison.getOrder();
    Optional<Field> list =
        Stream.concat(left.stream(), right.stream())
            .map(Term::getField)
            .filter(Field::hasElement)
            .findFirst();
    if (list.isPresent()) {
      errors.type(span(list.get()), list.get().getName() + " is not a list", "a field");
      return List.of();
    }
    Field first = first(left);
    boolean simple = left.size() == 1 && !left.get(0).getNegative() && right.size() == 1;
    return simple ? simple(first, order, right.get(0)) : linear(left, order, right);
  }

  private static Field first(List<Term> sum) {
    return sum.stream().filter(Term::hasField).map(Term::getField).findFirst().orElseThrow();
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

  private List<Node> simple(Field left, Order order, Term right) {
    FieldInfo field = info(left);
    boolean isEquality = order == Order.EQUAL || order == Order.NOT_EQUAL;
    if (!isEquality && !field.type().isNumeric()) {
      hasNoOrder(field, left);
      return List.of();
    }
    Optional<FieldInfo> rightField = field(right, field);
    if (rightField.isPresent()) {
      Comparison.Builder pair =
          Comparison.newBuilder()
              .addLeft(Term.newBuilder().setField(named(field)))
              .setOrder(order)
              .addRight(term(named(rightField.get()), right.getNegative()));
      return List.of(Node.newBuilder().setComparison(pair).build());
    }
    List<Literal> literals = values.of(literal(right), field);
    if (literals.isEmpty()) {
      return List.of();
    } else if (!isEquality) {
      Comparison.Builder bound =
          Comparison.newBuilder()
              .addLeft(Term.newBuilder().setField(named(field)))
              .setOrder(order)
              .addRight(Term.newBuilder().setLiteral(literals.get(0)));
      return List.of(Node.newBuilder().setComparison(bound).build());
    }
    Membership.Builder among = Membership.newBuilder().setField(named(field));
    literals.forEach(number -> among.addRangesBuilder().setLow(number));
    Node equal = Node.newBuilder().setMembership(among).build();
    return order == Order.EQUAL
        ? List.of(equal)
        : List.of(equal, Node.newBuilder().setNot(Not.getDefaultInstance()).build());
  }

  /**
   * Returns the field named by a word that is compared with another field, unless the word is a
   * string or a host.
   */
  private Optional<FieldInfo> field(Term term, FieldInfo opposite) {
    String name = term.getField().getName();
    boolean isWord = term.hasField() && !term.getField().hasElement();
    if (opposite.type() == Type.ADDRESS) {
      return Optional.of(name)
          .filter(written -> isWord && !term.getNegative() && inventory.find(written).isEmpty())
          .flatMap(text -> Catalogue.field(parser, text))
          .filter(info -> info.type() == Type.ADDRESS);
    }
    return Optional.of(name)
        .filter(number -> isWord && opposite.type().isNumeric())
        .flatMap(text -> Catalogue.field(parser, text))
        .filter(info -> info.type().isNumeric());
  }

  private static Term term(Field field, boolean isNegative) {
    return Term.newBuilder().setField(field).setNegative(isNegative).build();
  }

  /** Returns the value of a term that is not a field, with its sign. */
  private static Literal literal(Term term) {
    Literal literal =
        switch (term.getValueCase()) {
          case FIELD -> word(term.getField().getName(), term.getField().getAt());
          case AGGREGATE -> word(term.getAggregate().getName(), term.getAggregate().getAt());
          default -> term.getLiteral();
        };
    return term.getNegative() && !literal.hasText()
        ? literal.toBuilder().setWord("-" + literal.getWord()).build()
        : literal;
  }

  private static Literal word(String word, int position) {
    return Literal.newBuilder().setWord(word).setAt(position).build();
  }

  /**
   * Types a comparison of sums. All terms must be numbers; literals have the first field's unit.
   */
  private List<Node> linear(List<Term> left, Order order, List<Term> right) {
    FieldInfo first = info(first(left));
    Comparison.Builder typed = Comparison.newBuilder().setOrder(order);
    for (Term term : left) {
      Optional<Term> one = number(term, first);
      if (one.isEmpty()) {
        return List.of();
      }
      typed.addLeft(one.get());
    }
    for (Term term : right) {
      Optional<Term> one = number(term, first);
      if (one.isEmpty()) {
        return List.of();
      }
      typed.addRight(one.get());
    }
    return List.of(Node.newBuilder().setComparison(typed).build());
  }

  private Optional<Term> number(Term term, FieldInfo first) {
    Optional<FieldInfo> field =
        term.hasField() ? Catalogue.field(parser, term.getField().getName()) : Optional.empty();
    if (field.isPresent() && !field.get().type().isNumeric()) {
      String message = "%s is not a number".formatted(field.get().name());
      errors.type(span(term.getField()), message, "only numbers in a sum");
      return Optional.empty();
    } else if (field.isPresent()) {
      return Optional.of(term(named(field.get()), term.getNegative()));
    }
    Literal writtenLiteral = literal(term.toBuilder().setNegative(false).build());
    return values
        .number(writtenLiteral, first)
        .map(
            value ->
                Term.newBuilder()
                    .setNegative(term.getNegative())
                    .setLiteral(Literal.newBuilder().setWord(value.toPlainString()))
                    .build());
  }

  /** Returns the names of the fields in a typed tree. */
  static Stream<String> fieldsOf(ConditionTree typed) {
    return typed.getNodesList().stream()
        .flatMap(
            node ->
                switch (node.getKindCase()) {
                  case PRESENT -> Stream.of(node.getPresent());
                  case MEMBERSHIP -> Stream.of(node.getMembership().getField());
                  default ->
                      Stream.concat(
                              node.getComparison().getLeftList().stream(),
                              node.getComparison().getRightList().stream())
                          .filter(Term::hasField)
                          .map(Term::getField);
                })
        .map(Field::getName)
        .distinct();
  }
}
