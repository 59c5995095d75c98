package io.tapline.flink;

import io.tapline.schema.proto.Condition;
import java.io.Serializable;

/** A condition on a group's value. */
public record ConditionSpec(Condition.Comparison comparison, double threshold)
    implements Serializable {

  static ConditionSpec of(Condition condition) {
    if (condition.getComparison() == Condition.Comparison.UNRECOGNIZED) {
      throw new IllegalArgumentException("plan: a condition has an unknown comparison");
    }
    return new ConditionSpec(condition.getComparison(), condition.getThreshold());
  }

  /**
   * Returns true if missing tuples alone could make a value meet the condition. The value must then
   * be complete.
   */
  public boolean wantsAll() {
    return comparison == Condition.Comparison.BELOW || comparison == Condition.Comparison.AT_MOST;
  }

  public boolean holds(double value) {
    return holds(value, threshold);
  }

  /** Evaluates the condition with a different threshold. */
  public boolean holds(double value, double threshold) {
    return switch (comparison) {
      case AT_LEAST -> value >= threshold;
      case BELOW -> value < threshold;
      case AT_MOST -> value <= threshold;
      default -> value > threshold;
    };
  }
}
