package io.tapline.control.cli.drill;

import com.fasterxml.jackson.databind.JsonNode;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;

/** Describes why a watch ended, when it was not evaluated, and how many alerts were lost. */
final class WatchHistory {
  private static final double NS_PER_SECOND = 1e9;

  private WatchHistory() {}

  /**
   * Returns lines for the watch's end, and for each node's gaps and lost alerts; none for an active
   * watch that all nodes have evaluated without interruption or loss.
   */
  static List<String> lines(JsonNode watch) {
    String id = watch.path("id").asText();
    List<String> lines = new ArrayList<>();
    if (watch.has("ended_ns")) {
      lines.add(
          "%s ended at %s: %s"
              .formatted(id, time(watch.path("ended_ns")), watch.path("reason").asText()));
    }
    for (JsonNode evaluation : watch.path("evaluation")) {
      String node = evaluation.path("node").asText();
      for (JsonNode gap : evaluation.path("gaps")) {
        double seconds =
            (gap.path("to_ns").asLong() - gap.path("from_ns").asLong()) / NS_PER_SECOND;
        lines.add(
            "%s was not evaluated on %s for %.1f s from %s: %s"
                .formatted(
                    id, node, seconds, time(gap.path("from_ns")), gap.path("reason").asText()));
      }
      if (!evaluation.path("evaluates").asBoolean()) {
        lines.add(
            "%s may not be evaluated on %s since %s: the node can't be reached"
                .formatted(id, node, time(evaluation.path("unknown_since_ns"))));
      }
      long missedAlerts = evaluation.path("missed_alerts").asLong();
      if (missedAlerts > 0) {
        lines.add(
            "%s: %d alerts of %s never reached this server".formatted(id, missedAlerts, node));
      }
    }
    return lines;
  }

  private static String time(JsonNode ns) {
    return Instant.EPOCH.plusNanos(ns.asLong()).toString();
  }
}
