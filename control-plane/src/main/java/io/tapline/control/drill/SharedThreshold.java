package io.tapline.control.drill;

import io.tapline.control.drill.DrillException.Kind;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * A threshold on the sum over all nodes, split among them as in Trumpet: if their sum is above it,
 * at least one of n nodes is above an n-th of it. So only nodes above their share report, and the
 * others are then asked.
 *
 * @param output COUNT or SUM, which are additive and never shrink while a window fills
 * @param orEqual whether the threshold itself suffices
 */
record SharedThreshold(String output, boolean orEqual, double threshold) {
  private static final Pattern CONDITION =
      Pattern.compile("\\s*(COUNT|SUM)\\s*(>=?)\\s*([0-9]+(?:\\.[0-9]+)?)\\s*([A-Za-z]*)\\s*");
  private static final Map<String, Double> UNITS =
      Map.ofEntries(
          Map.entry("", 1.0),
          Map.entry("B", 1.0),
          Map.entry("KB", 1e3),
          Map.entry("MB", 1e6),
          Map.entry("GB", 1e9),
          Map.entry("TB", 1e12),
          Map.entry("KiB", 1024.0),
          Map.entry("MiB", 1048576.0),
          Map.entry("GiB", 1073741824.0));

  /**
   * Parses "SUM > 10MB".
   *
   * @throws DrillException if the condition can't be split
   */
  static SharedThreshold parse(String when, DrillAggregate aggregate) throws DrillException {
    Matcher matcher = CONDITION.matcher(when);
    if (!matcher.matches()
        || !UNITS.containsKey(matcher.group(4))
        || !matcher.group(1).equals(aggregate.function())) {
      throw new DrillException(
          Kind.INVALID,
          "'"
              + when
              + "' of all nodes together: give COUNT or SUM(field), and as condition that above a number: \"SUM > 10MB\"");
    }
    double number = Double.parseDouble(matcher.group(3)) * UNITS.get(matcher.group(4));
    return new SharedThreshold(matcher.group(1), matcher.group(2).equals(">="), number);
  }

  /**
   * Returns the condition for each of so many nodes. Shares are whole numbers, rounded so that no
   * alert is missed.
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
