package io.tapline.control.drill;

import io.tapline.conditions.ConditionException;
import io.tapline.conditions.Number;
import io.tapline.control.drill.DrillException.Kind;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * A threshold on the sum over all nodes, split among them as in Trumpet: if the sum over n nodes
 * exceeds it, at least one node exceeds 1/n of it. Only nodes above their share report; the other
 * nodes are then queried.
 *
 * @param output COUNT or SUM, which are additive and never shrink while a window fills
 * @param orEqual true if a sum equal to the threshold meets the condition
 */
record SharedThreshold(String output, boolean orEqual, double threshold) {
  private static final Pattern CONDITION =
      Pattern.compile("\\s*(COUNT|SUM)\\s*(>=?)\\s*([0-9]\\S*(?:\\s+[A-Za-z]+)?)\\s*");

  /**
   * Parses "SUM > 10MB".
   *
   * @throws DrillException if the condition can't be split
   */
  static SharedThreshold parse(String when, DrillAggregate aggregate) throws DrillException {
    Matcher matcher = CONDITION.matcher(when);
    if (!matcher.matches() || !matcher.group(1).equals(aggregate.function())) {
      throw invalid(when, "use COUNT or SUM(field), with a condition such as \"SUM > 10MB\"");
    }
    try {
      Number threshold = Number.parse(matcher.group(3).replaceAll("\\s", ""), 0);
      return new SharedThreshold(
          matcher.group(1), matcher.group(2).equals(">="), threshold.asDouble());
    } catch (ConditionException e) {
      throw invalid(when, e.getMessage());
    }
  }

  private static DrillException invalid(String when, String reason) {
    return new DrillException(
        Kind.INVALID, "'" + when + "' can't apply to the total of all nodes: " + reason);
  }

  /**
   * Returns each node's condition if this many nodes share the threshold. Shares are whole numbers,
   * rounded such that no alert is missed.
   */
  String share(int nodes) {
    double share = threshold / nodes;
    return output
        + (orEqual ? " >= " : " > ")
        + (long) (orEqual ? Math.ceil(share) : Math.floor(share));
  }

  boolean holds(double sum) {
    return orEqual ? sum >= threshold : sum > threshold;
  }
}
