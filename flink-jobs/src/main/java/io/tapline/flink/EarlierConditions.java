package io.tapline.flink;

import io.tapline.conditions.Trees;
import io.tapline.schema.proto.ConditionTree;
import io.tapline.schema.proto.ConditionTree.Comparison;
import io.tapline.schema.proto.ConditionTree.Field;
import io.tapline.schema.proto.ConditionTree.Literal;
import io.tapline.schema.proto.ConditionTree.Membership;
import io.tapline.schema.proto.ConditionTree.Node;
import io.tapline.schema.proto.ConditionTree.Order;
import io.tapline.schema.proto.ConditionTree.Term;
import io.tapline.schema.proto.FieldCondition;
import io.tapline.schema.proto.TupleFilter;

/**
 * Converts the conditions of plans that a control plane of the version before made: a later one
 * resumes their queries.
 */
final class EarlierConditions {
  private EarlierConditions() {}

  static TupleFilter filter(FieldCondition condition) {
    return TupleFilter.newBuilder()
        .addAllParsers(condition.getParsersList())
        .setCondition(tree(condition))
        .build();
  }

  /** Returns the same as a tree. REQUIRES: it has a value. */
  static ConditionTree tree(FieldCondition condition) {
    Field field = Field.newBuilder().setName(condition.getField()).build();
    boolean equality =
        condition.getOperator() == FieldCondition.Operator.EQUAL
            || condition.getOperator() == FieldCondition.Operator.NOT_EQUAL;
    if (!equality) {
      return tree(
          Node.newBuilder()
              .setComparison(
                  Comparison.newBuilder()
                      .addLeft(Term.newBuilder().setField(field))
                      .setOrder(Order.valueOf(condition.getOperator().name()))
                      .addRight(Term.newBuilder().setLiteral(literal(condition.getValues(0))))));
    }
    Membership.Builder among = Membership.newBuilder().setField(field);
    condition.getValuesList().forEach(value -> among.addRangesBuilder().setLow(literal(value)));
    ConditionTree equal = tree(Node.newBuilder().setMembership(among));
    return condition.getOperator() == FieldCondition.Operator.EQUAL ? equal : Trees.not(equal);
  }

  private static Literal literal(String value) {
    return Literal.newBuilder().setWord(value).build();
  }

  private static ConditionTree tree(Node.Builder leaf) {
    return ConditionTree.newBuilder().addNodes(leaf).build();
  }
}
