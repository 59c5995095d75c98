package io.tapline.control.cli.results;

import com.fasterxml.jackson.databind.JsonNode;
import java.math.BigDecimal;
import java.math.MathContext;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;

/**
 * The line under a table that states how complete the table's input is: packets captured, sampled
 * and lost (by reason), and tuples that were late or not counted.
 */
public final class Completeness {
  /** Reasons for which the query itself skips packets; these do not count as lost. */
  private static final List<String> INTENDED = List.of("unsampled", "limit");

  private Completeness() {}

  public static String line(JsonNode completeness) {
    List<String> parts = new ArrayList<>();
    parts.add(count(completeness.path("packets_in").asLong(), "packet") + " in");
    parts.add(sampled(completeness));
    count(completeness.path("dropped"), "limit", "beyond LIMIT", parts);
    parts.add(lost(completeness.path("dropped")));
    count(completeness, "late", "tuple", " late", parts);
    count(completeness, "reused", "connection", " reused, not counted", parts);
    count(completeness, "unanswered", "unanswered", parts);
    count(completeness, "half_seen", "half seen", parts);
    count(completeness, "duplicates", "batches repeated, counted once", parts);
    count(completeness, "clock_steps", "times a clock stepped backwards", parts);
    count(
        completeness,
        "packets_polled",
        "packets timestamped when polled: delays are off by up to about 1 ms",
        parts);
    silent(completeness.path("silent"), parts);
    return "completeness: " + String.join("; ", parts);
  }

  private static void silent(JsonNode monitors, List<String> parts) {
    List<String> names = new ArrayList<>();
    monitors.forEach(monitor -> names.add(monitor.asText()));
    if (!names.isEmpty()) {
      parts.add("no data from " + String.join(", ", names) + " (silent)");
    }
  }

  private static String sampled(JsonNode completeness) {
    double rate = completeness.path("sampling_rate").asDouble(1);
    if (rate >= 1) {
      return "every flow sampled";
    }
    long leftOut = completeness.path("dropped").path("unsampled").asLong();
    return String.format(
        Locale.ROOT, "%s %% of flows sampled (%,d packets left out)", percent(rate), leftOut);
  }

  /** Formats a percentage with four significant digits and without trailing zeros. */
  private static String percent(double rate) {
    return new BigDecimal(100 * rate)
        .round(new MathContext(4))
        .stripTrailingZeros()
        .toPlainString();
  }

  private static String lost(JsonNode dropped) {
    List<String> reasons = new ArrayList<>();
    for (Map.Entry<String, JsonNode> reason : dropped.properties()) {
      if (!INTENDED.contains(reason.getKey()) && reason.getValue().asLong() > 0) {
        reasons.add(
            String.format(
                Locale.ROOT,
                "%,d %s",
                reason.getValue().asLong(),
                reason.getKey().replace('_', ' ')));
      }
    }
    return reasons.isEmpty() ? "nothing lost" : "lost: " + String.join(", ", reasons);
  }

  private static void count(JsonNode node, String field, String text, List<String> parts) {
    long value = node.path(field).asLong();
    if (value > 0) {
      parts.add(String.format(Locale.ROOT, "%,d %s", value, text));
    }
  }

  private static void count(
      JsonNode node, String field, String noun, String rest, List<String> parts) {
    long value = node.path(field).asLong();
    if (value > 0) {
      parts.add(count(value, noun) + rest);
    }
  }

  private static String count(long count, String noun) {
    return String.format(Locale.ROOT, "%,d %s%s", count, noun, count == 1 ? "" : "s");
  }
}
