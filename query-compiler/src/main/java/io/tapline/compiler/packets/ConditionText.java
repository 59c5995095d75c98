package io.tapline.compiler.packets;

import io.tapline.compiler.conditions.ConditionPrinter;
import io.tapline.schema.proto.ConditionStep;
import io.tapline.schema.proto.ConditionStep.Operator;
import io.tapline.schema.proto.Operand;
import io.tapline.schema.proto.Processor;
import io.tapline.schema.proto.Value;
import java.math.BigDecimal;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.List;
import java.util.Locale;
import java.util.Map;

/** Shows a trigger's condition on several values as it is written in a query. */
public final class ConditionText {
  private static final Map<Operator, String> SYMBOLS =
      Map.of(
          Operator.OR, "or",
          Operator.AND, "and",
          Operator.GREATER, ">",
          Operator.GREATER_EQUAL, ">=",
          Operator.LESS, "<",
          Operator.LESS_EQUAL, "<=",
          Operator.ADD, "+",
          Operator.SUBTRACT, "-",
          Operator.MULTIPLY, "*",
          Operator.DIVIDE, "/");

  /** Higher than the precedence of all operators. */
  private static final int ATOM = 5;

  private ConditionText() {}

  private record Part(String text, int precedence) {
    String within(int precedenceOutside) {
      return precedence < precedenceOutside ? "(" + text + ")" : text;
    }
  }

  /** Returns the text of a condition in postfix order. */
  public static String of(Processor processor, List<ConditionStep> steps) {
    List<Operand> operands = TriggerValues.operands(processor);
    Deque<Part> stack = new ArrayDeque<>();
    for (ConditionStep step : steps) {
      if (step.hasOperator()) {
        int precedence = precedence(step.getOperator());
        // Operators associate to the left, so a right side of the same precedence keeps its
        // parentheses.
        String right = stack.pop().within(precedence + 1);
        String left = stack.pop().within(precedence);
        String text = left + " " + SYMBOLS.get(step.getOperator()) + " " + right;
        stack.push(new Part(text, precedence));
      } else if (step.hasConstant()) {
        stack.push(new Part(number(step.getConstant()), ATOM));
      } else {
        stack.push(new Part(text(operands.get(step.getOperand())), ATOM));
      }
    }
    return stack.pop().text();
  }

  private static int precedence(Operator operator) {
    return switch (operator) {
      case OR -> 0;
      case AND -> 1;
      case ADD, SUBTRACT -> 3;
      case MULTIPLY, DIVIDE -> 4;
      default -> 2;
    };
  }

  private static String text(Operand operand) {
    Value value = operand.getValue();
    if (value.hasCondition()) {
      String function = operand.getAggregate().equals("AVG") ? "share" : "count";
      return "%s(%s)".formatted(function, value.getConditionText());
    }
    String function =
        switch (operand.getAggregate()) {
          case "" -> "count";
          case "PERCENTILE" -> percentile(operand.getShare());
          default -> operand.getAggregate().toLowerCase(Locale.ROOT);
        };
    String field = value.getField();
    String only =
        value.getOnly().getNodesCount() == 0
            ? ""
            : " where " + ConditionPrinter.text(value.getOnly());
    return field.isEmpty() ? function : "%s(%s%s)".formatted(function, field, only);
  }

  /** Returns the name of a percentile, such as p99.9 for 0.999. */
  public static String percentile(double share) {
    return "p" + BigDecimal.valueOf(share).movePointRight(2).stripTrailingZeros().toPlainString();
  }

  private static String number(double number) {
    return BigDecimal.valueOf(number).stripTrailingZeros().toPlainString();
  }
}
