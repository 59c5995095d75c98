package io.tapline.control.rest.system;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.javalin.http.Context;
import io.tapline.control.query.LinkEvent;
import io.tapline.control.query.LinkEvents;
import io.tapline.control.query.LinkFlow;
import io.tapline.control.query.QueryService;
import io.tapline.control.rest.http.Access;
import io.tapline.control.rest.http.Json;
import io.tapline.control.rest.http.Parameters;
import io.tapline.control.rest.http.Route;
import java.util.List;
import java.util.OptionalLong;

/**
 * {@code /api/v1/links/events}: the events of triggers on {@code link_load}, with the flows that
 * used the link (Planck section 3.3).
 */
public final class LinkEventRoutes {
  private static final int USUAL_EVENTS = 100;
  private static final int MAX_EVENTS = 1000;

  /** Fields of {@code trigger} that an event contains unchanged. */
  private static final List<String> WINDOW =
      List.of("value", "low", "high", "window_start_ns", "window_end_ns", "certain", "incomplete");

  /** Fields of {@code link_load} that an event contains unchanged. */
  private static final List<String> LOAD =
      List.of(
          "seen",
          "share",
          "low_share",
          "high_share",
          "bits_per_second",
          "low_bits_per_second",
          "high_bits_per_second",
          "interval_ns",
          "mirror_state");

  private final LinkEvents events;

  public LinkEventRoutes(QueryService queries) {
    this.events = new LinkEvents(queries);
  }

  public List<Route> routes() {
    return List.of(
        Route.get("/api/v1/links/events", "listLinkEvents")
            .summary("The latest events of link_load triggers, with the flows on their links.")
            .parameter("query", "switch", text(), "Events of a switch's links.")
            .parameter("query", "port", text(), "Events of links at this port, as taps name it.")
            .parameter("query", "from_ns", Parameters.time(), "Only events at this time or later.")
            .parameter("query", "to_ns", Parameters.time(), "Only events at this time or earlier.")
            .parameter(
                "query",
                "limit",
                Json.object().put("type", "integer").put("minimum", 1).put("maximum", MAX_EVENTS),
                "Maximum number of events. Default: %d.".formatted(USUAL_EVENTS))
            .answers(200, "LinkEventList", "The events, the latest first.")
            .problem(503, "Redis does not answer.")
            .to(this::list));
  }

  private static ObjectNode text() {
    return Json.object().put("type", "string");
  }

  private void list(Context ctx) {
    String switchName = ctx.queryParam("switch");
    String port = ctx.queryParam("port");
    LinkEvents.FoundEvents found =
        events.read(
            new LinkEvents.EventSelection(
                Parameters.timeNs(ctx, "from_ns"),
                Parameters.timeNs(ctx, "to_ns"),
                Parameters.count(ctx, "limit", USUAL_EVENTS, MAX_EVENTS),
                event ->
                    (switchName == null || event.switchName().equals(switchName))
                        && (port == null || event.port().equals(port))),
            new LinkEvents.Viewer(query -> Access.owns(ctx, query), Access.rights(ctx).scope()));
    ObjectNode json = Json.object();
    ArrayNode array = json.putArray("events");
    found.events().forEach(event -> array.add(json(event)));
    json.put("incomplete", found.completeSinceNs() > 0);
    if (found.completeSinceNs() > 0) {
      json.put("complete_since_ns", found.completeSinceNs());
    }
    Json.answer(ctx, 200, json);
  }

  private static ObjectNode json(LinkEvent event) {
    ObjectNode json = Json.object().put("switch", event.switchName());
    putUnlessEmpty(json, "port", event.port());
    putUnlessEmpty(json, "side", event.side());
    putUnlessEmpty(json, "neighbour", event.neighbour());
    json.put("time_ns", event.timeNs()).put("seen_ns", event.seenNs());
    copy(event.fields(), WINDOW, json);
    copy(event.tuple(), LOAD, json);
    if (event.tuple().path("flows").isTextual()) {
      ArrayNode flows = json.putArray("flows");
      event.flows().forEach(flow -> flows.add(json(flow)));
    }
    put(json, "flows_left_out", event.leftOut());
    putUnlessEmpty(json, "query", event.query());
    return json.put("processor", event.processor());
  }

  private static ObjectNode json(LinkFlow flow) {
    ObjectNode json =
        Json.object()
            .put("src_ip", flow.srcIp())
            .put("src_port", flow.srcPort())
            .put("dst_ip", flow.dstIp())
            .put("dst_port", flow.dstPort())
            .put("protocol", flow.protocol());
    put(json, "bits_per_second", flow.bitsPerSecond());
    put(json, "low_bits_per_second", flow.lowBitsPerSecond());
    put(json, "high_bits_per_second", flow.highBitsPerSecond());
    return json;
  }

  private static void copy(JsonNode fields, List<String> names, ObjectNode json) {
    for (String name : names) {
      if (fields.hasNonNull(name)) {
        json.set(name, fields.path(name));
      }
    }
  }

  private static void putUnlessEmpty(ObjectNode json, String name, String value) {
    if (!value.isEmpty()) {
      json.put(name, value);
    }
  }

  private static void put(ObjectNode json, String name, OptionalLong value) {
    value.ifPresent(number -> json.put(name, number));
  }
}
