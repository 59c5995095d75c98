package io.tapline.control.diagnose;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.Comparator;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** Reads a burst from the events of the parser {@code queue_burst}. */
final class QueueEvents {
  /** Minimum share of the queue for a flow to count as a main culprit, not a victim. */
  static final double CULPRIT_SHARE = 0.05;

  /** Maximum number of culprits and of victims in a report of a burst. */
  private static final int MAX_FLOWS = 8;

  private QueueEvents() {}

  /**
   * Returns the burst that a query reported.
   *
   * @param unit the query's flows
   * @param events its events, at least one
   */
  static QueueReport.Burst burst(FlowUnit unit, List<JsonNode> events) {
    List<JsonNode> culprits =
        events.stream()
            .sorted(Comparator.comparingDouble(QueueEvents::share).reversed())
            .limit(MAX_FLOWS)
            .toList();
    List<JsonNode> victims =
        events.stream()
            .filter(event -> share(event) < CULPRIT_SHARE && number(event, "flow_victims") > 0)
            .sorted(Comparator.comparingLong(QueueEvents::waitedNs).reversed())
            .limit(MAX_FLOWS)
            .toList();
    JsonNode first = events.get(0);
    long begin = number(first, "begin_ns");
    return new QueueReport.Burst(
        begin,
        begin + number(first, "duration_ns"),
        number(first, "delay_ns"),
        number(first, "peak_bytes"),
        number(first, "burst_packets"),
        number(first, "burst_bytes"),
        number(first, "victims"),
        number(first, "burst_flows"),
        number(first, "lost"),
        culprits.stream().map(event -> culprit(unit, event)).toList(),
        victims.stream().map(event -> victim(unit, event)).toList(),
        Stream.concat(main(culprits), victims.stream())
            .map(unit::filter)
            .distinct()
            .collect(Collectors.joining(" || ")));
  }

  /** Returns the main culprits, or the largest one if all are small. */
  private static Stream<JsonNode> main(List<JsonNode> culprits) {
    return share(culprits.get(0)) < CULPRIT_SHARE
        ? culprits.stream().limit(1)
        : culprits.stream().takeWhile(culprit -> share(culprit) >= CULPRIT_SHARE);
  }

  private static long number(JsonNode event, String field) {
    return event.path("fields").path(field).asLong();
  }

  private static double share(JsonNode event) {
    return event.path("fields").path("share").asDouble();
  }

  private static long waitedNs(JsonNode event) {
    return number(event, "waited_ns");
  }

  private static QueueReport.Culprit culprit(FlowUnit unit, JsonNode event) {
    return new QueueReport.Culprit(
        unit.source(event),
        unit.destination(event),
        share(event),
        number(event, "direct_bytes"),
        number(event, "indirect_bytes"),
        number(event, "original_bytes"),
        number(event, "blamed_ns"));
  }

  private static QueueReport.Victim victim(FlowUnit unit, JsonNode event) {
    return new QueueReport.Victim(
        unit.source(event),
        unit.destination(event),
        number(event, "flow_victims"),
        number(event, "flow_delay_ns"),
        waitedNs(event));
  }
}
