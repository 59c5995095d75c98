package io.tapline.control.rest.nodes;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.javalin.http.Context;
import io.tapline.control.drill.Coverage;
import io.tapline.control.drill.DrillException;
import io.tapline.control.drill.DrillService;
import io.tapline.control.drill.Evaluation;
import io.tapline.control.drill.TapNames;
import io.tapline.control.drill.WatchRecord;
import io.tapline.control.drill.WatchService;
import io.tapline.control.drill.WatchService.Alert;
import io.tapline.control.drill.WatchService.Holder;
import io.tapline.control.drill.WatchSpec;
import io.tapline.control.rest.http.Access;
import io.tapline.control.rest.http.Json;
import io.tapline.control.rest.http.Problem;
import io.tapline.control.rest.http.RequestBody;
import io.tapline.control.rest.http.Route;
import io.tapline.control.rest.http.Schemas;
import io.tapline.schema.rpc.NodeAlert;
import io.tapline.schema.rpc.NodeNumber;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/** Manages watches, and returns their alerts. */
public final class WatchRoutes {
  /** Maximum length of a body. A list of 16,384 watches takes about 3 MB. */
  private static final int MAX_BYTES = 8 << 20;

  private final DrillService drill;
  private final WatchService watches;

  public WatchRoutes(DrillService drill) {
    this.drill = drill;
    this.watches = drill.watches();
  }

  private boolean owns(Context ctx, String watch) {
    String tenant = Access.rights(ctx).tenant();
    return watches
        .ownerOf(watch)
        .filter(owner -> Alerts.seesAll(ctx) || owner.equals(tenant))
        .isPresent();
  }

  public List<Route> routes() {
    return List.of(addRoute(), listRoute(), removeRoute(), alertsRoute());
  }

  private Route addRoute() {
    return Route.post("/api/v1/watches", "addWatch")
        .summary(
            "Adds a watch: hosts maintain an aggregate and test a condition on it. Adds all watches of a list, or none.")
        .takes(Json.MEDIA_TYPE, "WatchRequest")
        .answers(201, "AddedWatches", "The watch; for a list, {\"watches\": […]} in its order.")
        .problem(400, "A watch is invalid, or a node rejects it; no watch of a list was added.")
        .problem(404, "There is no such node.")
        .problem(413, "The body is too long.")
        .problem(415, "The body is not JSON.")
        .problem(
            429,
            "The server or the tenant has reached its maximum number of watches, or of running queries; Retry-After says when to try again.")
        .problem(503, "The server has no node, or the watch can't be stored.")
        .to(this::add);
  }

  private void add(Context ctx) {
    JsonNode body = RequestBody.object(ctx, MAX_BYTES);
    Holder holder =
        new Holder(
            Access.rights(ctx).tenant(),
            Access.known(ctx).sha256(),
            Access.quota(ctx).watches(),
            Access.quota(ctx).queries());
    try {
      if (WatchBody.isList(body)) {
        List<WatchSpec> specs = WatchBody.list(ctx, body, drill);
        List<String> names = watches.addAll(specs, holder);
        Json.answer(ctx, 201, json(names, specs, watches.records()));
      } else {
        WatchSpec spec = WatchBody.one(ctx, body, drill);
        String name = watches.add(spec, holder);
        Json.answer(ctx, 201, json(name, spec, watches.records()));
      }
    } catch (DrillException e) {
      throw DrillRoutes.problem(e).asException();
    }
  }

  private ObjectNode json(
      List<String> names, List<WatchSpec> specs, Map<String, WatchRecord> records) {
    ObjectNode json = Json.object();
    ArrayNode array = json.putArray("watches");
    for (int i = 0; i < specs.size(); i++) {
      array.add(json(names.get(i), specs.get(i), records));
    }
    return json;
  }

  private ObjectNode json(String name, WatchSpec spec, Map<String, WatchRecord> records) {
    ObjectNode json = json(name, spec);
    Optional.ofNullable(records.get(name)).ifPresent(watch -> putCounting(json, watch));
    return json;
  }

  private void putCounting(ObjectNode json, WatchRecord watch) {
    watches.countingSinceNs(watch).ifPresent(ns -> json.put("counting_since_ns", ns));
  }

  private Route listRoute() {
    return Route.get("/api/v1/watches", "listWatches")
        .summary("Lists the watches.")
        .answers(200, "WatchList", "The watches.")
        .to(
            ctx -> {
              ObjectNode json = Json.object();
              ArrayNode array = json.putArray("watches");
              Map<String, WatchRecord> own = new LinkedHashMap<>(watches.records());
              own.keySet().removeIf(name -> !owns(ctx, name));
              own.values().forEach(watch -> array.add(json(watch)));
              json.put("left_out", own.keySet().stream().mapToLong(watches::leftOut).sum());
              Json.answer(ctx, 200, json);
            });
  }

  private Route removeRoute() {
    return Route.delete("/api/v1/watches/{id}", "removeWatch")
        .summary("Ends a watch on all hosts.")
        .parameter("path", "id", Schemas.string(), "The watch's ID.")
        .answersWithoutBody(204, "It has ended.")
        .problem(404, "There is no such watch.")
        .problem(503, "The removal can't be stored.")
        .to(
            ctx -> {
              try {
                String id = ctx.pathParam("id");
                if (!owns(ctx, id)) {
                  // Another tenant's watch must be indistinguishable from a missing one.
                  throw Problem.notFound("there is no watch " + id).asException();
                }
                watches.remove(id);
                ctx.status(204);
              } catch (DrillException e) {
                throw DrillRoutes.problem(e).asException();
              }
            });
  }

  private Route alertsRoute() {
    return Route.get("/api/v1/alerts", "listAlerts")
        .summary("The latest alerts of watches, the oldest first.")
        .parameter(
            "query",
            "after",
            Schemas.integer(0, Long.MAX_VALUE),
            "Only alerts with a higher number than this, usually that of the last alert seen.")
        .answers(200, "AlertList", "The alerts.")
        .problem(400, "\"after\" is not a number.")
        .to(this::alerts);
  }

  private void alerts(Context ctx) {
    String cursor = ctx.queryParam("after");
    if (cursor != null && !cursor.matches("\\d{1,18}")) {
      throw Problem.badRequest("after=" + cursor + " is not an alert's number").asException();
    }
    ObjectNode json = Json.object();
    ArrayNode array = json.putArray("alerts");
    long number = cursor == null ? 0 : Long.parseLong(cursor);
    if (Alerts.seesAll(ctx)) {
      watches.alertsAfter(number).forEach(alert -> array.add(json(alert, alert.number())));
    } else {
      watches
          .alertsAfter(Access.rights(ctx).tenant(), number)
          .forEach(alert -> array.add(json(alert, alert.ownNumber())));
    }
    Json.answer(ctx, 200, json);
  }

  private static ObjectNode json(String name, WatchSpec spec) {
    ObjectNode json = Json.object();
    json.put("id", name);
    json.put("filter", spec.filter().text());
    json.put("aggregate", spec.aggregate().text());
    json.set("group_by", Json.strings(spec.aggregate().groupBy()));
    json.put("when", spec.when());
    json.put("window_ns", spec.windowNs());
    json.put("every_ns", spec.everyNs());
    json.put("severity", spec.severity());
    json.set("nodes", Json.strings(spec.nodes()));
    json.put("together", spec.together());
    json.put("run", spec.run().name()).put("run_reason", spec.run().reason());
    if (spec.run().inMonitor()) {
      json.put("after", spec.rules().after()).put("clear", spec.rules().clear());
      json.put("cooldown_ns", spec.rules().cooldownNs());
    }
    return json;
  }

  private ObjectNode json(WatchRecord watch) {
    ObjectNode json = json(watch.id(), watch.spec());
    json.put("added_ns", watch.addedNs());
    if (!watch.query().isEmpty()) {
      json.put("query", watch.query());
      putCounting(json, watch);
    }
    if (!watch.isActive()) {
      json.put("ended_ns", watch.endedNs()).put("reason", watch.reason());
      return json;
    }
    ArrayNode array = json.putArray("evaluation");
    watches.evaluations(watch).forEach(evaluation -> array.add(json(evaluation)));
    return json;
  }

  private static ObjectNode json(Evaluation evaluation) {
    ObjectNode json = Json.object();
    json.put("node", evaluation.node()).put("evaluates", evaluation.evaluates());
    if (!evaluation.evaluates()) {
      json.put("unknown_since_ns", evaluation.knownToNs());
    }
    json.put("missed_alerts", evaluation.missedAlerts());
    if (evaluation.coverage() == null) {
      return json;
    }
    json.put("since_ns", evaluation.coverage().sinceNs());
    json.put("not_evaluated_ns", evaluation.coverage().notEvaluatedNs());
    ArrayNode gaps = json.putArray("gaps");
    for (Coverage.Gap gap : evaluation.coverage().gaps()) {
      gaps.addObject()
          .put("from_ns", gap.fromNs())
          .put("to_ns", gap.toNs())
          .put("reason", gap.reason());
    }
    return json;
  }

  private ObjectNode json(Alert alert, long number) {
    ObjectNode json = Json.object();
    json.put("number", number).put("id", alert.id()).put("replayed", alert.replayed());
    json.put("watch", alert.watch());
    json.put("node", alert.node());
    json.put("severity", alert.alert().getSeverity());
    json.put("window_start_ns", alert.alert().getWindowBeginNs());
    json.put("window_end_ns", alert.alert().getWindowEndNs());
    ObjectNode key = json.putObject("key");
    WatchSpec spec = watches.list().get(alert.watch());
    for (int i = 0; spec != null && i < alert.alert().getGroupCount(); i++) {
      String field = spec.aggregate().groupBy().get(i);
      key.put(field, TapNames.ofGroup(field, alert.alert().getGroup(i)));
    }
    if (alert.alert().getValuesCount() > 0) {
      NodeNumber value = alert.alert().getValues(0);
      switch (value.getValueCase()) {
        case WHOLE -> json.put("value", value.getWhole());
        case REAL -> json.put("value", value.getReal());
        case VALUE_NOT_SET -> json.putNull("value");
      }
    }
    if (!alert.parts().isEmpty()) {
      ObjectNode parts = json.putObject("parts");
      alert.parts().forEach(parts::put);
      json.set("missing", Json.strings(alert.missing()));
    }
    if (alert.alert().getReadyNs() > 0) {
      putMonitored(alert.alert(), json);
    }
    json.put("late", alert.alert().getLate());
    json.put("found_ns", alert.alert().getFoundNs());
    json.put("received_ns", alert.receivedNs());
    return json;
  }

  /** Adds the properties that only alerts of a watch in a monitor have. */
  private static void putMonitored(NodeAlert alert, ObjectNode json) {
    json.put("scope", alert.getScope());
    json.put("certain", !alert.getUncertain()).put("incomplete", alert.getIncomplete());
    if (alert.hasLostPackets()) {
      json.put("lost_packets", alert.getLostPackets());
    }
    if (alert.hasLow()) {
      json.put("low", alert.getLow());
    }
    if (alert.hasHigh()) {
      json.put("high", alert.getHigh());
    }
    json.put("ready_ns", alert.getReadyNs());
    json.set("exemplars", Json.strings(alert.getExemplarsList()));
  }
}
