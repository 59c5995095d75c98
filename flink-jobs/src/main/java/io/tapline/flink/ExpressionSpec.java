package io.tapline.flink;

import io.tapline.aggregates.Value;
import io.tapline.schema.proto.ConditionStep;
import io.tapline.schema.proto.ConditionStep.Operator;
import java.io.Serializable;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.List;

/**
 * A validated condition on several values of a group.
 *
 * <p>A value that is absent, or a quotient whose divisor is zero, makes all comparisons with it
 * false.
 *
 * @param steps condition in postfix order
 */
public record ExpressionSpec(List<ConditionStep> steps) implements Serializable {
  private static final int MAX_STEPS = 64;

  /**
   * Returns the condition of a plan; null if it has no steps.
   *
   * @param operands number of values
   * @param name name of the processor
   */
  static ExpressionSpec of(List<ConditionStep> steps, int operands, String name) {
    if (steps.isEmpty()) {
      return null;
    }
    ProcessorSpec.check(steps.size() <= MAX_STEPS, name, "has a condition that is too long");
    Deque<Boolean> truths = new ArrayDeque<>();
    for (ConditionStep step : steps) {
      if (step.hasOperator()) {
        boolean isLogical = isLogical(step.getOperator());
        ProcessorSpec.check(
            step.getOperator() != Operator.UNRECOGNIZED
                && truths.size() >= 2
                && truths.pop() == isLogical
                && truths.pop() == isLogical,
            name,
            "has a condition with a misplaced operator");
        truths.push(isLogical || isComparison(step.getOperator()));
      } else {
        boolean isKnown = step.hasConstant() || step.hasOperand() && step.getOperand() < operands;
        ProcessorSpec.check(
            isKnown && step.getOperand() >= 0, name, "has a condition on an unknown value");
        truths.push(false);
      }
    }
    ProcessorSpec.check(
        truths.size() == 1 && truths.peek(), name, "has a condition without a comparison");
    return new ExpressionSpec(List.copyOf(steps));
  }

  /**
   * The outcome of a condition.
   *
   * @param compared left side of the first comparison
   */
  public record Outcome(boolean holds, Value compared) {}

  /** Evaluates the condition on a group's values. */
  public Outcome evaluate(Value[] values) {
    Value[] stack = new Value[steps.size()];
    boolean[] truths = new boolean[steps.size()];
    Value compared = null;
    int depth = 0;
    for (ConditionStep step : steps) {
      if (step.hasConstant()) {
        stack[depth++] = Value.real(step.getConstant());
        continue;
      } else if (!step.hasOperator()) {
        stack[depth++] = values[step.getOperand()];
        continue;
      }
      depth--;
      Value left = stack[depth - 1];
      Value right = stack[depth];
      boolean both = truths[depth - 1] && truths[depth];
      switch (step.getOperator()) {
        case AND -> truths[depth - 1] = both;
        case OR -> truths[depth - 1] |= truths[depth];
        case GREATER, GREATER_EQUAL, LESS, LESS_EQUAL -> {
          compared = compared == null ? left : compared;
          truths[depth - 1] = holds(step.getOperator(), left.number(), right.number());
        }
        default -> stack[depth - 1] = calculated(step.getOperator(), left, right);
      }
    }
    return new Outcome(truths[0], compared);
  }

  /**
   * How a calculated number may change with further tuples. A group's value, such as a mean, is
   * taken to grow.
   */
  private record Trend(boolean grows, boolean shrinks) {
    Trend plus(Trend other) {
      return new Trend(grows || other.grows, shrinks || other.shrinks);
    }

    Trend minus(Trend other) {
      return plus(new Trend(other.shrinks, other.grows));
    }
  }

  /**
   * Returns true if missing tuples alone could make a group meet the condition. Its values must
   * then be complete.
   */
  public boolean wantsAll() {
    Deque<Trend> trends = new ArrayDeque<>();
    boolean wantsAll = false;
    for (ConditionStep step : steps) {
      if (!step.hasOperator()) {
        trends.push(new Trend(step.hasOperand(), false));
        continue;
      }
      Trend right = trends.pop();
      Trend left = trends.pop();
      switch (step.getOperator()) {
        case GREATER, GREATER_EQUAL -> wantsAll |= left.minus(right).shrinks();
        case LESS, LESS_EQUAL -> wantsAll |= left.minus(right).grows();
        default -> {}
      }
      boolean isOpposed =
          step.getOperator() == Operator.SUBTRACT || step.getOperator() == Operator.DIVIDE;
      trends.push(isOpposed ? left.minus(right) : left.plus(right));
    }
    return wantsAll;
  }

  private static boolean isLogical(Operator operator) {
    return operator == Operator.AND || operator == Operator.OR;
  }

  private static boolean isComparison(Operator operator) {
    return switch (operator) {
      case GREATER, GREATER_EQUAL, LESS, LESS_EQUAL -> true;
      default -> false;
    };
  }

  private static boolean holds(Operator operator, double left, double right) {
    return switch (operator) {
      case GREATER -> left > right;
      case GREATER_EQUAL -> left >= right;
      case LESS -> left < right;
      default -> left <= right;
    };
  }

  /** Returns the result of an operator. Its bounds are unknown unless both values are exact. */
  private static Value calculated(Operator operator, Value left, Value right) {
    double a = left.number();
    double b = right.number();
    double number =
        switch (operator) {
          case ADD -> a + b;
          case SUBTRACT -> a - b;
          case MULTIPLY -> a * b;
          default -> b == 0 ? Double.NaN : a / b;
        };
    Value result = Value.real(number);
    return isExact(left) && isExact(right) ? result : result.within(Double.NaN, Double.NaN);
  }

  private static boolean isExact(Value value) {
    return value.low() == value.high();
  }
}
