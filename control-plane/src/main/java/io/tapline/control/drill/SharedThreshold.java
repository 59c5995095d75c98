package io.tapline.control.drill;

import io.tapline.control.drill.DrillException.Kind;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * A threshold on what all nodes have together, split over them, as Trumpet does: if their sum is
 * above it, one of n nodes is above an n-th of it. So only nodes above their share report, and the
 * others are asked.
 *
 * @param output COUNT or SUM: what adds up, and never shrinks while a window fills
 * @param orEqual whether the threshold itself is enough
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
   * Reads "SUM > 10MB".
   *
   * @throws DrillException if it is no condition that can be split
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
   * The condition of each of so many nodes. Whole numbers: a share is rounded so that none misses.
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
