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
   * @param events its events, at least one
   */
  static QueueReport.Burst burst(List<JsonNode> events) {
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
        culprits.stream().map(QueueEvents::culprit).toList(),
        victims.stream().map(QueueEvents::victim).toList(),
        Stream.concat(main(culprits), victims.stream())
            .map(QueueEvents::filter)
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

  private static QueueReport.Culprit culprit(JsonNode event) {
    return new QueueReport.Culprit(
        source(event),
        destination(event),
        share(event),
        number(event, "direct_bytes"),
        number(event, "indirect_bytes"),
        number(event, "original_bytes"),
        number(event, "blamed_ns"));
  }

  private static QueueReport.Victim victim(JsonNode event) {
    return new QueueReport.Victim(
        source(event),
        destination(event),
        number(event, "flow_victims"),
        number(event, "flow_delay_ns"),
        waitedNs(event));
  }

  private static String source(JsonNode event) {
    return endpoint(event, fromClient(event) ? "src" : "dst");
  }

  private static String destination(JsonNode event) {
    return endpoint(event, fromClient(event) ? "dst" : "src");
  }

  /** Returns true if the client sent the flow's packets; an event's source is always the client. */
  private static boolean fromClient(JsonNode event) {
    return event.path("fields").path("from_client").asBoolean(true);
  }

  private static String endpoint(JsonNode event, String side) {
    String address = event.path(side + "_ip").asText();
    return (address.contains(":") ? "[" + address + "]" : address)
        + ":"
        + event.path(side + "_port").asInt();
  }

  /**
   * Returns the filter for the packets of the event's flow, in the direction in which they were
   * sent.
   */
  private static String filter(JsonNode event) {
    String client = fromClient(event) ? "src" : "dst";
    String server = fromClient(event) ? "dst" : "src";
    return "(%s && %s)".formatted(filter(event, "src", client), filter(event, "dst", server));
  }

  private static String filter(JsonNode event, String side, String in) {
    String address = event.path(in + "_ip").asText();
    return "%s_ip%s == %s && %s_port == %d"
        .formatted(
            side,
            address.contains(":") ? "6" : "",
            address,
            side,
            event.path(in + "_port").asInt());
  }
}
