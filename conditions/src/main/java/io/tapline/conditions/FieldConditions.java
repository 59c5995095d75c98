package io.tapline.conditions;

import com.google.protobuf.ByteString;
import io.tapline.schema.proto.Column;
import io.tapline.schema.proto.ConditionTree;
import io.tapline.schema.proto.ConditionTree.Literal;
import io.tapline.schema.proto.ConditionTree.Node;
import io.tapline.schema.proto.ConditionTree.Order;
import io.tapline.schema.proto.ConditionTree.Term;
import io.tapline.schema.proto.FieldCondition;
import java.util.List;
import java.util.Optional;
import java.util.function.Function;

/** Converts the conditions of a plan, one for each field, to a tree. */
public final class FieldConditions {
  private FieldConditions() {}

  /**
   * Returns a tree that holds where all conditions do.
   *
   * @param types types of the fields
   */
  public static ConditionTree tree(
      List<FieldCondition> conditions, Function<String, Optional<Column.Type>> types) {
    return Trees.and(
        conditions.stream()
            .map(each -> tree(each, types.apply(each.getField()).orElse(Column.Type.U64)))
            .toList());
  }

  private static ConditionTree tree(FieldCondition condition, Column.Type type) {
    ConditionTree.Field field =
        ConditionTree.Field.newBuilder().setName(condition.getField()).build();
    ConditionTree.Builder tree = ConditionTree.newBuilder();
    switch (condition.getOperator()) {
      case EQUAL, NOT_EQUAL -> {
        ConditionTree.Membership.Builder among =
            ConditionTree.Membership.newBuilder().setField(field);
        condition
            .getValuesList()
            .forEach(value -> among.addRangesBuilder().setLow(literal(value, type)));
        tree.addNodes(Node.newBuilder().setMembership(among));
        if (condition.getOperator() == FieldCondition.Operator.NOT_EQUAL) {
          tree.addNodes(Node.newBuilder().setNot(ConditionTree.Not.getDefaultInstance()));
        }
      }
      default ->
          tree.addNodes(
              Node.newBuilder()
                  .setComparison(
                      ConditionTree.Comparison.newBuilder()
                          .addLeft(Term.newBuilder().setField(field))
                          .setOrder(order(condition.getOperator()))
                          .addRight(
                              Term.newBuilder()
                                  .setLiteral(literal(condition.getValues(0), type)))));
    }
    return tree.build();
  }

  private static Literal literal(String value, Column.Type type) {
    return type == Column.Type.STRING
        ? Literal.newBuilder().setText(ByteString.copyFromUtf8(value)).build()
        : Literal.newBuilder().setWord(value).build();
  }

  private static Order order(FieldCondition.Operator operator) {
    return switch (operator) {
      case LESS -> Order.LESS;
      case LESS_OR_EQUAL -> Order.LESS_OR_EQUAL;
      case GREATER -> Order.GREATER;
      default -> Order.GREATER_OR_EQUAL;
    };
  }
}
