package io.tapline.control.cli.query;

import com.fasterxml.jackson.databind.JsonNode;
import io.tapline.control.cli.results.ResultTables;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;

/** Renders link events, as {@code GET /api/v1/links/events} returns them. */
final class LinkEventText {
  /** Maximum number of flows shown for an event; JSON output has no such limit. */
  private static final int SHOWN_FLOWS = 5;

  private LinkEventText() {}

  /** Returns a line for the event, and indented lines for its largest flows. */
  static List<String> lines(JsonNode event) {
    List<String> lines = new ArrayList<>();
    lines.add(
        "%s UTC  %s  %s"
            .formatted(
                ResultTables.dayAndMillis(event.path("time_ns").asLong()),
                link(event),
                load(event)));
    JsonNode flows = event.path("flows");
    for (int i = 0; i < Math.min(flows.size(), SHOWN_FLOWS); i++) {
      lines.add("  " + flow(flows.path(i)));
    }
    long furtherFlows =
        Math.max(0, flows.size() - SHOWN_FLOWS) + event.path("flows_left_out").asLong();
    if (furtherFlows > 0) {
      lines.add("  and %,d more".formatted(furtherFlows));
    }
    return lines;
  }

  private static String link(JsonNode event) {
    StringBuilder link = new StringBuilder(event.path("switch").asText());
    for (String part : List.of("port", "side")) {
      if (event.has(part)) {
        link.append(':').append(event.path(part).asText());
      }
    }
    if (event.has("neighbour")) {
      link.append(" to ").append(event.path("neighbour").asText());
    }
    return link.toString();
  }

  /**
   * Returns the load that triggered the event; only the compared value if the event lacks the tuple
   * that triggered it.
   */
  private static String load(JsonNode event) {
    if (event.has("share") || event.has("low_share")) {
      return percent(event) + ", " + rate(event);
    }
    return event.has("bits_per_second") || event.has("low_bits_per_second")
        ? rate(event)
        : "value " + event.path("value").asText("unknown");
  }

  private static String percent(JsonNode event) {
    return bounded(event, "share", 100, " %");
  }

  private static String rate(JsonNode figures) {
    return bounded(figures, "bits_per_second", 1e-6, " Mb/s");
  }

  private static String bounded(JsonNode figures, String name, double scale, String unit) {
    JsonNode value = figures.path(name);
    JsonNode high = figures.path("high_" + name);
    return "%s%s (%s to %s)"
        .formatted(
            figure(value, scale, "unknown"),
            value.isNumber() ? unit : "",
            figure(figures.path("low_" + name), scale, "0"),
            figure(high, scale, "unknown"));
  }

  private static String figure(JsonNode value, double scale, String missing) {
    return value.isNumber()
        ? String.format(Locale.ROOT, "%,.1f", scale * value.asDouble())
        : missing;
  }

  private static String flow(JsonNode flow) {
    return "%s-%s/%s  %s"
        .formatted(end(flow, "src"), end(flow, "dst"), flow.path("protocol").asText(), rate(flow));
  }

  private static String end(JsonNode flow, String side) {
    String ip = flow.path(side + "_ip").asText();
    return (ip.contains(":") ? "[" + ip + "]" : ip) + ":" + flow.path(side + "_port").asInt();
  }
}
