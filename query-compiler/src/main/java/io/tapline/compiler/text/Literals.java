package io.tapline.compiler.text;

import com.google.protobuf.Duration;
import com.google.protobuf.util.Durations;
import java.math.BigDecimal;
import java.util.Map;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Parses and formats numbers, durations and sizes as queries write them. */
public final class Literals {
  private static final String PER_SECOND = "/s";
  private static final Pattern QUANTITY =
      Pattern.compile("(-?[0-9]{0,18}(?:\\.[0-9]{0,18})?)([A-Za-z]{0,3})");
  private static final Map<String, Long> NANOSECONDS =
      Map.of(
          "us",
          1_000L,
          "ms",
          1_000_000L,
          "s",
          1_000_000_000L,
          "m",
          60_000_000_000L,
          "h",
          3_600_000_000_000L);
  private static final Map<String, Long> BYTES =
      Map.of(
          "b", 1L, "kb", 1_000L, "mb", 1_000_000L, "gb", 1_000_000_000L, "tb", 1_000_000_000_000L);

  public static final long NS_PER_MS = 1_000_000;

  private Literals() {}

  /** A number and its unit in lower case; the unit may be empty. */
  public record Quantity(BigDecimal number, String unit) {}

  public static Optional<Quantity> quantity(String text) {
    Matcher matcher = QUANTITY.matcher(text);
    boolean quantity =
        matcher.matches() && matcher.group(1).chars().anyMatch(c -> c >= '0' && c <= '9');
    return quantity
        ? Optional.of(new Quantity(new BigDecimal(matcher.group(1)), Names.lower(matcher.group(2))))
        : Optional.empty();
  }

  /** Parses a plain number without a unit. */
  public static Optional<BigDecimal> number(String text) {
    return quantity(text).filter(quantity -> quantity.unit().isEmpty()).map(Quantity::number);
  }

  /** Parses p50, p99.9 and so on, as a share above 0 and below 1. */
  public static Optional<Double> percentile(String text) {
    return text.startsWith("p")
        ? number(text.substring(1))
            .map(number -> number.doubleValue() / 100)
            .filter(share -> share > 0 && share < 1)
        : Optional.empty();
  }

  /** Parses a number, a size (to bytes) or a duration (to nanoseconds), optionally per second. */
  public static Optional<Double> threshold(String text) {
    String amount =
        text.endsWith(PER_SECOND) ? text.substring(0, text.length() - PER_SECOND.length()) : text;
    return number(amount)
        .or(() -> durationNs(amount))
        .or(() -> sizeBytes(amount))
        .map(BigDecimal::doubleValue);
  }

  /** Parses a duration in us, ms, s, m or h. Returns nanoseconds, which may have a fraction. */
  public static Optional<BigDecimal> durationNs(String text) {
    return scaled(text, NANOSECONDS);
  }

  /** Parses a size in B, kB, MB, GB or TB (powers of ten). Returns bytes, maybe with a fraction. */
  public static Optional<BigDecimal> sizeBytes(String text) {
    return scaled(text, BYTES);
  }

  private static Optional<BigDecimal> scaled(String text, Map<String, Long> units) {
    return quantity(text)
        .filter(quantity -> units.containsKey(quantity.unit()))
        .map(
            quantity -> quantity.number().multiply(BigDecimal.valueOf(units.get(quantity.unit()))));
  }

  /** Returns the kind of value that a string resembles, for messages. */
  public static String kindOf(String text) {
    if (number(text).isPresent()) {
      boolean isWhole = number(text).get().stripTrailingZeros().scale() <= 0;
      return isWhole ? "a number" : "a fraction";
    } else if (durationNs(text).isPresent()) {
      return "a duration";
    } else if (sizeBytes(text).isPresent()) {
      return "a size";
    } else {
      return "a name";
    }
  }

  /** Formats a duration as queries write it, in the largest unit that keeps it whole. */
  public static String durationText(long nanoseconds) {
    for (String unit : new String[] {"h", "m", "s", "ms", "us"}) {
      long size = NANOSECONDS.get(unit);
      boolean small = nanoseconds < 2 * size && !unit.equals("us") && nanoseconds != size;
      if (nanoseconds % size == 0 && !small) {
        return nanoseconds / size + unit;
      }
    }
    return nanoseconds + "ns";
  }

  public static String durationText(Duration duration) {
    return durationText(Durations.toNanos(duration));
  }
}
