package io.tapline.compiler.packets;

import io.tapline.schema.proto.ConditionStep;
import io.tapline.schema.proto.ConditionStep.Measure;
import io.tapline.schema.proto.ConditionStep.Operator;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.EnumSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;

/**
 * Determines how the values that several monitors compute from their own packets combine to the
 * value of all packets. Sums add up, and so do sums and differences of them and their products with
 * a number: {@code sum(bytes) - 1500 * count}. Of maxima and minima, the greatest or smallest
 * remains. Ratios, bursts and numbers of distinct values can't be combined.
 */
final class PartialValues {
  private static final Set<Measure> MAXIMA =
      EnumSet.of(Measure.MAX_BYTES, Measure.MAX_PAYLOAD_BYTES, Measure.MAX_RTT_NS);
  private static final Set<Measure> MINIMA = EnumSet.of(Measure.MIN_RTT_NS);
  private static final Set<Measure> WITHOUT_PARTS =
      EnumSet.of(
          Measure.BURST,
          Measure.FLOWS,
          Measure.DISTINCT_SRC_IP,
          Measure.DISTINCT_SRC_PORT,
          Measure.DISTINCT_DST_IP,
          Measure.DISTINCT_DST_PORT);

  private enum Kind {
    NUMBER,
    SUM,
    MAX,
    MIN,
    OTHER
  }

  private PartialValues() {}

  /**
   * Returns the name of the aggregate of the monitors' values; empty if there is none.
   *
   * @param value steps that compute the value, without a comparison
   */
  static Optional<String> aggregate(List<ConditionStep> value) {
    Deque<Kind> stack = new ArrayDeque<>();
    for (ConditionStep step : value) {
      if (step.hasOperator()) {
        Kind right = stack.pop();
        stack.push(combined(step.getOperator(), stack.pop(), right));
      } else {
        stack.push(kind(step));
      }
    }
    return switch (stack.pop()) {
      case SUM -> Optional.of("SUM");
      case MAX -> Optional.of("MAX");
      case MIN -> Optional.of("MIN");
      case NUMBER, OTHER -> Optional.empty();
    };
  }

  private static Kind kind(ConditionStep step) {
    if (step.hasConstant()) {
      return Kind.NUMBER;
    } else if (step.hasQuantile() || WITHOUT_PARTS.contains(step.getMeasure())) {
      return Kind.OTHER;
    } else if (MAXIMA.contains(step.getMeasure())) {
      return Kind.MAX;
    }
    return MINIMA.contains(step.getMeasure()) ? Kind.MIN : Kind.SUM;
  }

  private static Kind combined(Operator operator, Kind left, Kind right) {
    boolean areNumbers = left == Kind.NUMBER && right == Kind.NUMBER;
    boolean areSums = left == Kind.SUM && right == Kind.SUM;
    return switch (operator) {
      case ADD, SUBTRACT -> areNumbers ? Kind.NUMBER : areSums ? Kind.SUM : Kind.OTHER;
      case MULTIPLY -> areNumbers ? Kind.NUMBER : scaled(left, right);
      case DIVIDE ->
          areNumbers ? Kind.NUMBER : right == Kind.NUMBER ? scaled(left, right) : Kind.OTHER;
      default -> Kind.OTHER;
    };
  }

  /** Returns the kind of the product of a sum and a number. */
  private static Kind scaled(Kind left, Kind right) {
    boolean isScaled =
        left == Kind.SUM && right == Kind.NUMBER || left == Kind.NUMBER && right == Kind.SUM;
    return isScaled ? Kind.SUM : Kind.OTHER;
  }
}
