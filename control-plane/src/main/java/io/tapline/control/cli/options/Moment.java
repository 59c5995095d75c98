package io.tapline.control.cli.options;

import io.tapline.control.cli.console.UsageException;
import java.time.DateTimeException;
import java.time.Duration;
import java.time.Instant;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Parses points in time and durations, in formats for people and for programs. */
public final class Moment {
  public static final String HELP =
      "as 2026-11-22T00:15:00Z, as nanoseconds since the epoch, or as the time before now: 90s, 5m, 2h";

  private static final Pattern AGO = Pattern.compile("(\\d{1,9})(ms|s|m|h)");
  private static final Pattern NANOSECONDS = Pattern.compile("\\d{1,19}");
  private static final long NANOS_PER_SECOND = 1_000_000_000L;

  private Moment() {}

  /**
   * Parses a point in time; returns nanoseconds since the epoch.
   *
   * @param option name of the option, for errors
   * @param now reference time for relative values such as 5m
   */
  public static long nanoseconds(String option, String text, Instant now) {
    Matcher ago = AGO.matcher(text);
    if (ago.matches()) {
      return nanoseconds(now.minus(duration(Long.parseLong(ago.group(1)), ago.group(2))));
    }
    try {
      return NANOSECONDS.matcher(text).matches()
          ? Long.parseLong(text)
          : nanoseconds(Instant.parse(text));
    } catch (DateTimeException | ArithmeticException | NumberFormatException e) {
      throw new UsageException(option + " " + text + " is not a point in time: write it " + HELP);
    }
  }

  /**
   * Parses a duration; returns nanoseconds.
   *
   * @param option name of the option, for errors
   */
  public static long duration(String option, String text) {
    Matcher matcher = AGO.matcher(text);
    if (!matcher.matches()) {
      throw new UsageException(
          option + " " + text + " is not a duration: write it as 1ms, 10s, 5m or 2h");
    }
    try {
      return duration(Long.parseLong(matcher.group(1)), matcher.group(2)).toNanos();
    } catch (ArithmeticException e) {
      throw new UsageException(option + " " + text + " is longer than 292 years");
    }
  }

  private static Duration duration(long amount, String unit) {
    return switch (unit) {
      case "ms" -> Duration.ofMillis(amount);
      case "s" -> Duration.ofSeconds(amount);
      case "m" -> Duration.ofMinutes(amount);
      default -> Duration.ofHours(amount);
    };
  }

  private static long nanoseconds(Instant instant) {
    return Math.addExact(
        Math.multiplyExact(instant.getEpochSecond(), NANOS_PER_SECOND), instant.getNano());
  }
}
