package io.tapline.flink;

import io.tapline.conditions.Trees;
import io.tapline.schema.proto.ConditionTree;
import io.tapline.schema.proto.ConditionTree.Comparison;
import io.tapline.schema.proto.ConditionTree.Field;
import io.tapline.schema.proto.ConditionTree.Node;
import io.tapline.schema.proto.ConditionTree.Order;
import io.tapline.schema.proto.ConditionTree.Term;
import io.tapline.schema.proto.FieldCondition;
import io.tapline.schema.proto.TupleFilter;

/**
 * Converts conditions in plans of the previous control-plane version, so that queries of that
 * version can be resumed.
 */
final class EarlierConditions {
  private EarlierConditions() {}

  static TupleFilter filter(FieldCondition condition) {
    return TupleFilter.newBuilder()
        .addAllParsers(condition.getParsersList())
        .setCondition(tree(condition))
        .build();
  }

  /** Returns the condition as a tree. REQUIRES: the condition has a value. */
  static ConditionTree tree(FieldCondition condition) {
    boolean isEquality =
        condition.getOperator() == FieldCondition.Operator.EQUAL
            || condition.getOperator() == FieldCondition.Operator.NOT_EQUAL;
    if (!isEquality) {
      Comparison.Builder comparison =
          Comparison.newBuilder()
              .addLeft(Term.newBuilder().setField(Field.newBuilder().setName(condition.getField())))
              .setOrder(Order.valueOf(condition.getOperator().name()))
              .addRight(Term.newBuilder().setLiteral(Trees.word(condition.getValues(0))));
      return ConditionTree.newBuilder()
          .addNodes(Node.newBuilder().setComparison(comparison))
          .build();
    }
    ConditionTree equal =
        Trees.isOneOf(
            condition.getField(), condition.getValuesList().stream().map(Trees::word).toList());
    return condition.getOperator() == FieldCondition.Operator.EQUAL ? equal : Trees.not(equal);
  }
}
