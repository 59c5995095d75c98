package io.tapline.flink.support;

import io.tapline.schema.proto.ConditionStep;
import java.util.List;

/**
 * The reference evaluator of conditions on several values. It reads a condition from its last step
 * backwards, as a tree.
 */
final class ExpressionOracle {
  private final List<ConditionStep> steps;
  private final List<Number> values;
  private int next;

  /**
   * Prepares to evaluate a condition.
   *
   * @param values values of the group; null for absent ones
   */
  ExpressionOracle(List<ConditionStep> steps, List<Number> values) {
    this.steps = steps;
    this.values = values;
  }

  boolean holds() {
    next = steps.size() - 1;
    return truth();
  }

  /** Returns the left side of the first comparison; null if it is absent. */
  Number compared() {
    for (int i = 0; i < steps.size(); i++) {
      ConditionStep.Operator operator = steps.get(i).getOperator();
      if (steps.get(i).hasOperator() && isComparison(operator)) {
        next = i - 1;
        number();
        return number();
      }
    }
    throw new IllegalStateException("no comparison in " + steps);
  }

  /**
   * Returns true if a value is on the wrong side of any comparison, so that it could be too small
   * because tuples are missing.
   */
  boolean wantsAll() {
    next = steps.size() - 1;
    return wantsAllOfTree();
  }

  private boolean wantsAllOfTree() {
    ConditionStep.Operator operator = steps.get(next--).getOperator();
    if (!isComparison(operator)) {
      boolean right = wantsAllOfTree();
      return wantsAllOfTree() || right;
    }
    boolean isGreater = operator.name().startsWith("GREATER");
    boolean right = named(isGreater);
    return named(!isGreater) || right;
  }

  /**
   * Returns true if a number contains a value that is added or multiplied ({@code isAdded}), or one
   * that is subtracted or a divisor.
   */
  private boolean named(boolean isAdded) {
    ConditionStep step = steps.get(next--);
    if (!step.hasOperator()) {
      return step.hasOperand() && isAdded;
    }
    boolean isOpposed =
        step.getOperator() == ConditionStep.Operator.SUBTRACT
            || step.getOperator() == ConditionStep.Operator.DIVIDE;
    boolean right = named(isOpposed != isAdded);
    return named(isAdded) || right;
  }

  private static boolean isComparison(ConditionStep.Operator operator) {
    return operator.name().startsWith("GREATER") || operator.name().startsWith("LESS");
  }

  private boolean truth() {
    ConditionStep step = steps.get(next--);
    if (!isComparison(step.getOperator())) {
      boolean right = truth();
      boolean left = truth();
      return step.getOperator() == ConditionStep.Operator.AND ? left && right : left || right;
    }
    Number right = number();
    Number left = number();
    if (left == null || right == null) {
      return false;
    }
    int order = Double.compare(left.doubleValue(), right.doubleValue());
    return switch (step.getOperator()) {
      case GREATER -> order > 0;
      case GREATER_EQUAL -> order >= 0;
      case LESS -> order < 0;
      default -> order <= 0;
    };
  }

  private Number number() {
    ConditionStep step = steps.get(next--);
    if (step.hasConstant()) {
      return step.getConstant();
    } else if (!step.hasOperator()) {
      return values.get(step.getOperand());
    }
    Number right = number();
    Number left = number();
    boolean isUndefined =
        left == null
            || right == null
            || step.getOperator() == ConditionStep.Operator.DIVIDE && right.doubleValue() == 0;
    if (isUndefined) {
      return null;
    }
    return switch (step.getOperator()) {
      case ADD -> left.doubleValue() + right.doubleValue();
      case SUBTRACT -> left.doubleValue() - right.doubleValue();
      case MULTIPLY -> left.doubleValue() * right.doubleValue();
      default -> left.doubleValue() / right.doubleValue();
    };
  }
}
