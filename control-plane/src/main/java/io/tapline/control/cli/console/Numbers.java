package io.tapline.control.cli.console;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.Locale;

/** Formats numbers and optional values for people. */
public final class Numbers {
  private static final double NS_PER_MS = 1e6;

  private Numbers() {}

  /** Formats nanoseconds as milliseconds with three decimals; "-" if there is no number. */
  public static String milliseconds(JsonNode ns) {
    return ns.isNumber() ? String.format(Locale.ROOT, "%,.3f", ns.asDouble() / NS_PER_MS) : "-";
  }

  /** Formats any value; "-" for null. */
  public static String text(JsonNode value) {
    return value.isNull() ? "-" : value.asText();
  }

  /**
   * Formats a number with thousands separators, and with three decimals unless it is whole; "-" if
   * there is no number.
   */
  public static String plain(JsonNode number) {
    if (!number.isNumber()) {
      return "-";
    }
    double value = number.asDouble();
    return value == Math.rint(value) && Math.abs(value) < 1e15
        ? String.format(Locale.ROOT, "%,d", (long) value)
        : String.format(Locale.ROOT, "%,.3f", value);
  }
}
