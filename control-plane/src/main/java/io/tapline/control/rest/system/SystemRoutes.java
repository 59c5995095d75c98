package io.tapline.control.rest.system;

import com.fasterxml.jackson.databind.JsonNode;
import io.javalin.http.Context;
import io.tapline.control.access.Role;
import io.tapline.control.query.QueryService;
import io.tapline.control.rest.http.Json;
import io.tapline.control.rest.http.Problems;
import io.tapline.control.rest.http.RequestBody;
import io.tapline.control.rest.http.Route;
import io.tapline.control.rest.queries.Metrics;
import io.tapline.control.rest.queries.ResultMetrics;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Locale;
import java.util.function.Supplier;
import java.util.stream.Collectors;

/**
 * Routes that any server answers, for operators and tools: health, metrics and the OpenAPI
 * document.
 */
public final class SystemRoutes {
  private final QueryService queries;
  private final Metrics metrics;
  private final Supplier<JsonNode> document;

  /**
   * Creates the routes of a server.
   *
   * @param document the OpenAPI document, which also lists these routes
   */
  public SystemRoutes(QueryService queries, Metrics metrics, Supplier<JsonNode> document) {
    this.queries = queries;
    this.metrics = metrics;
    this.document = document;
  }

  public List<Route> routes() {
    return List.of(
        new ResultMetrics(queries).route(),
        Route.get("/openapi.json", "getOpenApi")
            .open()
            .summary("This document.")
            .answers(200, "Object", "OpenAPI 3.1.")
            .to(ctx -> Json.answer(ctx, 200, document.get())),
        Route.get("/healthz", "getHealth")
            .open()
            .summary("Liveness: the process serves requests.")
            .answers(200, "Status", "Alive.")
            .to(ctx -> Json.answer(ctx, 200, status("up"))),
        Route.get("/readyz", "getReadiness")
            .open()
            .summary("Readiness: queries can be accepted.")
            .answers(200, "Status", "Ready.")
            .problem(503, "A service that queries need does not answer, or accepts no results.")
            .to(this::ready),
        Route.get("/metrics", "getMetrics")
            .needs(Role.ADMIN)
            .summary("Counters and gauges in Prometheus format.")
            .answers(200, RequestBody.TEXT, "PlainText", "The metrics.")
            .to(
                ctx ->
                    ctx.status(200)
                        .contentType(Metrics.MEDIA_TYPE)
                        .result(metrics.scrape().getBytes(StandardCharsets.UTF_8))));
  }

  private void ready(Context ctx) {
    String faults =
        queries.services().faults().entrySet().stream()
            .filter(service -> !service.getValue().isEmpty())
            .map(service -> named(service.getKey()) + " " + service.getValue())
            .collect(Collectors.joining("; "));
    if (!faults.isEmpty()) {
      throw Problems.notReady("queries can't be accepted: " + faults).asException();
    }
    Json.answer(ctx, 200, status("ready"));
  }

  private static String named(String service) {
    return service.substring(0, 1).toUpperCase(Locale.ROOT) + service.substring(1);
  }

  private static JsonNode status(String status) {
    return Json.object().put("status", status);
  }
}
