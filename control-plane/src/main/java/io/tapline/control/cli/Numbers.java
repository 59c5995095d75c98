package io.tapline.control.cli;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.Locale;

/** Numbers, and values that may not be there, as people read them. */
final class Numbers {
  private static final double NS_PER_MS = 1e6;

  private Numbers() {}

  /** Nanoseconds as milliseconds with three decimals; "-" where there is no number. */
  static String milliseconds(JsonNode ns) {
    return ns.isNumber() ? String.format(Locale.ROOT, "%,.3f", ns.asDouble() / NS_PER_MS) : "-";
  }

  /** Any value as text; "-" where there is none. */
  static String text(JsonNode value) {
    return value.isNull() ? "-" : value.asText();
  }

  /** Whole numbers with separators, others with three decimals; "-" where there is no number. */
  static String plain(JsonNode number) {
    if (!number.isNumber()) {
      return "-";
    }
    double value = number.asDouble();
    return value == Math.rint(value) && Math.abs(value) < 1e15
        ? String.format(Locale.ROOT, "%,d", (long) value)
        : String.format(Locale.ROOT, "%,.3f", value);
  }
}
