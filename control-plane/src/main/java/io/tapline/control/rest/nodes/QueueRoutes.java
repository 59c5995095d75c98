package io.tapline.control.rest.nodes;

import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.javalin.http.Context;
import io.tapline.control.diagnose.QueueReport;
import io.tapline.control.diagnose.QueueReports;
import io.tapline.control.drill.DrillException;
import io.tapline.control.rest.http.Access;
import io.tapline.control.rest.http.Json;
import io.tapline.control.rest.http.Parameters;
import io.tapline.control.rest.http.Route;
import java.util.List;
import java.util.function.Predicate;

/** {@code /api/v1/queues}: the bursts that the caller's queries reported, by queue. */
public final class QueueRoutes {
  private static final String ALL = "/api/v1/queues";
  private static final String UNAVAILABLE = "Redis does not answer.";

  private final QueueReports queues;

  public QueueRoutes(QueueReports queues) {
    this.queues = queues;
  }

  public List<Route> routes() {
    return List.of(
        span(Route.get(ALL, "listQueues"))
            .summary("The queues that the token's queue_burst queries measure.")
            .answers(200, "QueueList", "The queues, by switch and port.")
            .problem(503, UNAVAILABLE)
            .to(this::list),
        span(Route.get(ALL + "/{switch}/{port}", "getQueue"))
            .summary("The bursts of one queue, with their culprits.")
            .parameter("path", "switch", text(), "Name of the switch.")
            .parameter("path", "port", text(), "Port number, or the neighbour behind the port.")
            .answers(200, "Diagnosis", "The bursts, and the cause as text.")
            .problem(404, "No query of this token has measured it.")
            .problem(503, UNAVAILABLE)
            .to(this::show));
  }

  private static Route.Builder span(Route.Builder route) {
    return route
        .parameter(
            "query", "from_ns", Parameters.time(), "Only bursts that end at this time or later.")
        .parameter(
            "query", "to_ns", Parameters.time(), "Only bursts that begin at this time or earlier.");
  }

  private static ObjectNode text() {
    return Json.object().put("type", "string");
  }

  private static Predicate<String> own(Context ctx) {
    return query -> Access.owns(ctx, query);
  }

  private void list(Context ctx) {
    ObjectNode json = Json.object();
    ArrayNode array = json.putArray("queues");
    queues
        .all(Parameters.timeNs(ctx, "from_ns"), Parameters.timeNs(ctx, "to_ns"), own(ctx))
        .stream()
        .map(this::summary)
        .forEach(array::add);
    Json.answer(ctx, 200, json);
  }

  private ObjectNode summary(QueueReport report) {
    ObjectNode json = Json.object().put("queue", report.queue());
    String neighbour = queues.neighbour(report.queue());
    if (!neighbour.isEmpty()) {
      json.put("neighbour", neighbour);
    }
    List<QueueReport.Burst> bursts = report.bursts();
    json.set("queries", Json.strings(report.queries()));
    json.put("bursts", bursts.size()).put("incomplete", report.incomplete());
    if (report.incomplete()) {
      json.put("complete_since_ns", report.completeSinceNs());
    }
    if (!bursts.isEmpty()) {
      json.put("latest_ns", bursts.get(bursts.size() - 1).endNs());
      json.put("delay_ns", bursts.stream().mapToLong(QueueReport.Burst::delayNs).max().getAsLong());
    }
    json.put("victims", bursts.stream().mapToLong(QueueReport.Burst::victims).sum());
    json.put("lost", bursts.stream().mapToLong(QueueReport.Burst::lost).sum());
    json.set("verdict", Json.strings(report.verdict()));
    return json;
  }

  private void show(Context ctx) {
    String queue = ctx.pathParam("switch") + ":" + ctx.pathParam("port");
    try {
      QueueReport report =
          queues.of(
              queue, Parameters.timeNs(ctx, "from_ns"), Parameters.timeNs(ctx, "to_ns"), own(ctx));
      Json.answer(ctx, 200, Reports.json(report));
    } catch (DrillException e) {
      throw DrillRoutes.problem(e).asException();
    }
  }
}
