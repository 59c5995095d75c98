package io.tapline.control.cli.results;

import com.fasterxml.jackson.databind.JsonNode;
import io.tapline.control.cli.console.Numbers;
import java.util.List;
import java.util.Locale;

/**
 * The unit of the numbers in one table. All have the same unit, chosen for the largest of them,
 * which makes them comparable at a glance. Durations become µs, ms or s, bytes become kB, MB or GB
 * (powers of 1000).
 *
 * @param unit unit in a column's header; empty for plain numbers
 * @param divisor number of the tuples' units in one of this unit, such as 1e6 for ns in a ms
 */
record Quantity(String unit, double divisor) {
  private static final List<Quantity> DURATIONS =
      List.of(new Quantity("s", 1e9), new Quantity("ms", 1e6), new Quantity("µs", 1e3));
  private static final List<Quantity> BYTES =
      List.of(new Quantity("GB", 1e9), new Quantity("MB", 1e6), new Quantity("kB", 1e3));

  /** Minimum of the largest number, in kB, MB or GB, for that unit to be used. */
  private static final double ENOUGH = 10;

  /**
   * Minimum of the largest number, in seconds, for the unit s to be used. It is high because people
   * compare response times in ms.
   */
  private static final double ENOUGH_SECONDS = 100;

  /**
   * Returns the unit for a table.
   *
   * @param unit unit of the tuples: "ns", "bytes", "count"…
   * @param largest largest of the table's numbers, in that unit
   */
  static Quantity of(String unit, double largest) {
    return switch (unit) {
      case "ns" -> duration(largest);
      case "bytes" ->
          BYTES.stream()
              .filter(one -> largest >= ENOUGH * one.divisor())
              .findFirst()
              .orElse(new Quantity("bytes", 1));
      case "count" -> new Quantity("", 1);
      default -> new Quantity(unit, 1);
    };
  }

  private static Quantity duration(double largestNs) {
    Quantity seconds = DURATIONS.get(0);
    Quantity milliseconds = DURATIONS.get(1);
    if (largestNs >= ENOUGH_SECONDS * seconds.divisor()) {
      return seconds;
    }
    return largestNs >= milliseconds.divisor() ? milliseconds : DURATIONS.get(2);
  }

  /** Returns a column header: the name and the unit, unless the name ends with the unit. */
  String header(String name) {
    if (unit.isEmpty() || name.endsWith(unit)) {
      return name;
    }
    String bare = name.replaceFirst("[_ ](ns|bytes)$", "");
    return bare.isEmpty() ? unit : bare + " " + unit;
  }

  /** Formats a number in this unit; "-" if there is none. */
  String text(JsonNode number) {
    if (!number.isNumber()) {
      return "-";
    }
    return divisor == 1
        ? Numbers.plain(number)
        : String.format(Locale.ROOT, "%,.3f", number.asDouble() / divisor);
  }
}
