package io.tapline.control.rest.nodes;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.javalin.http.Context;
import io.tapline.control.drill.DrillAggregate;
import io.tapline.control.drill.DrillException;
import io.tapline.control.drill.DrillRequest;
import io.tapline.control.drill.DrillService;
import io.tapline.control.drill.DrillService.Headers;
import io.tapline.control.drill.DrillService.Numbers;
import io.tapline.control.drill.HeaderFilter;
import io.tapline.control.drill.TapNames;
import io.tapline.control.query.QueryService;
import io.tapline.control.rest.http.Access;
import io.tapline.control.rest.http.Json;
import io.tapline.control.rest.http.Problem;
import io.tapline.control.rest.http.Problems;
import io.tapline.control.rest.http.RequestBody;
import io.tapline.control.rest.http.Route;
import java.io.IOException;
import java.util.List;
import java.util.Map;
import java.util.Set;

/** Queries the packet headers that hosts kept. */
public final class DrillRoutes {
  static final String PCAPNG = "application/x-pcapng";
  private static final long USUAL_ROWS = 1_000;
  private static final Set<String> MEMBERS =
      Set.of("filter", "alert", "from_ns", "to_ns", "limit", "nodes", "aggregate", "group_by");

  private final DrillService drill;
  private final Alerts alerts;

  public DrillRoutes(DrillService drill, QueryService queries) {
    this.drill = drill;
    this.alerts = new Alerts(drill.watches(), queries);
  }

  public List<Route> routes() {
    return List.of(drillRoute());
  }

  private Route drillRoute() {
    return Route.post("/api/v1/drilldown", "drillDown")
        .summary(
            "Packet headers that hosts kept, at one point in time: rows, an aggregate over them, or"
                + " pcapng.")
        .takes(Json.MEDIA_TYPE, "DrillRequest")
        .answers(200, "DrillAnswer", "The nodes' data; nodes that sent none are named.")
        .answers(200, PCAPNG, "Binary", "With Accept: " + PCAPNG + ", the frames.")
        .problem(400, "The filter, the aggregate or the request is invalid.")
        .problem(404, "There is no such node or alert, or its headers are gone.")
        .problem(413, "The body is too long.")
        .problem(415, "The body is not JSON.")
        .problem(503, "No node answers, or no snapshot is available at the moment.")
        .to(this::drill);
  }

  private void drill(Context ctx) throws IOException {
    JsonNode body = RequestBody.object(ctx, MEMBERS);
    boolean asFile = PCAPNG.equals(ctx.header("Accept"));
    try {
      DrillRequest request = request(ctx, body, asFile ? 0 : USUAL_ROWS);
      if (asFile) {
        responseFile(ctx, request);
      } else if (body.hasNonNull("aggregate")) {
        DrillAggregate aggregate =
            DrillAggregate.parse(Members.text(body, "aggregate"), Members.texts(body, "group_by"));
        Json.answer(ctx, 200, json(drill.numbers(request, aggregate), aggregate));
      } else {
        Json.answer(ctx, 200, json(drill.headers(request)));
      }
    } catch (DrillException e) {
      throw problem(e).asException();
    }
  }

  /**
   * Responds without a content length: the body may be long, and only its end states which nodes
   * were missing.
   */
  private void responseFile(Context ctx, DrillRequest request) throws DrillException, IOException {
    ctx.contentType(PCAPNG);
    drill.pcapng(request, ctx.outputStream());
  }

  private DrillRequest request(Context ctx, JsonNode body, long usualLimit) throws DrillException {
    String alert = Members.text(body, "alert");
    if (!alert.isEmpty()) {
      return behind(ctx, alert, body, usualLimit);
    }
    HeaderFilter filter = filter(ctx, Members.text(body, "filter"));
    long limit = Members.number(body, "limit", usualLimit, DrillRequest.MAX_ROWS);
    long fromNs = Members.number(body, "from_ns", 0, Long.MAX_VALUE);
    long toNs = Members.number(body, "to_ns", 0, Long.MAX_VALUE);
    if (toNs != 0 && toNs < fromNs) {
      throw Problem.badRequest("to_ns is before from_ns").asException();
    }
    return new DrillRequest(filter, fromNs, toNs, limit, Members.texts(body, "nodes"), "");
  }

  /** Returns the request for headers behind an alert, which determines the window and the nodes. */
  private DrillRequest behind(Context ctx, String alert, JsonNode body, long usualLimit)
      throws DrillException {
    for (String otherField : List.of("from_ns", "to_ns", "nodes")) {
      if (body.hasNonNull(otherField)) {
        String message =
            "\"alert\" and \"%s\" are mutually exclusive: an alert has a window and nodes";
        throw Problem.badRequest(message.formatted(otherField)).asException();
      }
    }
    long limit = Members.number(body, "limit", usualLimit, DrillRequest.MAX_ROWS);
    AlertHeaders headers = alerts.headers(ctx, alert);
    headers.require(drill, filter(ctx, headers.condition()));
    return headers.request(filter(ctx, headers.and(Members.text(body, "filter"))), limit);
  }

  private HeaderFilter filter(Context ctx, String text) {
    return Access.filter(ctx, text, drill, name -> false);
  }

  private static ObjectNode json(Headers headers) {
    ObjectNode json = Json.object();
    ArrayNode rows = json.putArray("rows");
    headers.rows().forEach(rows::add);
    json.put("truncated", headers.truncated());
    return withNodes(json, headers.queried(), headers.missing(), headers.leftOut());
  }

  private static ObjectNode json(Numbers numbers, DrillAggregate aggregate) {
    ObjectNode json = Json.object();
    ArrayNode rows = json.putArray("groups");
    for (Map.Entry<List<String>, Double> group : numbers.groups()) {
      ObjectNode row = rows.addObject();
      ObjectNode key = row.putObject("key");
      for (int i = 0; i < group.getKey().size(); i++) {
        String field = aggregate.groupBy().get(i);
        key.put(field, TapNames.ofGroup(field, group.getKey().get(i)));
      }
      row.put("value", group.getValue());
    }
    return withNodes(json, numbers.queried(), numbers.missing(), numbers.leftOut());
  }

  private static ObjectNode withNodes(
      ObjectNode json,
      List<String> queried,
      Map<String, String> missing,
      Map<String, String> leftOut) {
    json.set("nodes", Json.strings(queried));
    ObjectNode missingNodes = json.putObject("missing");
    missing.forEach(missingNodes::put);
    ObjectNode left = json.putObject("left_out");
    leftOut.forEach(left::put);
    return json;
  }

  static Problem problem(DrillException e) {
    return switch (e.kind()) {
      case INVALID -> Problem.of(400, "drill-rejected", "The request is invalid", e.getMessage());
      case NOT_FOUND -> Problem.notFound(e.getMessage());
      case TOO_MANY_QUERIES -> Problems.tooMany("queries", e.getMessage());
      case TOO_MANY_WATCHES -> Problems.tooMany("watches", e.getMessage());
      case BUSY, UNAVAILABLE ->
          Problem.of(503, "nodes-unavailable", "The nodes do not answer", e.getMessage());
      case NOT_STORED ->
          Problem.of(503, "watch-not-stored", "The watch can't be stored", e.getMessage());
    };
  }
}
