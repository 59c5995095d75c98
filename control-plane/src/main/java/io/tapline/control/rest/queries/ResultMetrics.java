package io.tapline.control.rest.queries;

import com.fasterxml.jackson.databind.JsonNode;
import io.javalin.http.Context;
import io.tapline.control.access.Role;
import io.tapline.control.query.QueryInfo;
import io.tapline.control.query.QueryService;
import io.tapline.control.query.QueryState;
import io.tapline.control.query.WindowResult;
import io.tapline.control.rest.http.Access;
import io.tapline.control.rest.http.RequestBody;
import io.tapline.control.rest.http.Route;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;

/**
 * The latest windows of running queries in Prometheus's format, for dashboards and alerts. Only the
 * first rows of each processor are exported, which keeps scrapes small.
 */
public final class ResultMetrics {
  /** Maximum rows per window: the first of a ranking, or groups in the order of the window. */
  static final int MAX_ROWS = 20;

  private static final double NS_PER_SECOND = 1e9;

  private final QueryService queries;

  public ResultMetrics(QueryService queries) {
    this.queries = queries;
  }

  public Route route() {
    return Route.get("/metrics/results", "getResultMetrics")
        .needs(Role.VIEWER)
        .summary(
            "The first rows of the latest window of each processor, for the token's running queries, in Prometheus format.")
        .answers(200, RequestBody.TEXT, "PlainText", "The metrics.")
        .problem(503, "Redis does not answer.")
        .to(this::answer);
  }

  private void answer(Context ctx) {
    List<QueryInfo> running =
        queries.list().stream()
            .filter(query -> query.state() == QueryState.RUNNING && Access.owns(ctx, query.id()))
            .toList();
    ctx.status(200)
        .contentType(Metrics.MEDIA_TYPE)
        .result(text(running).getBytes(StandardCharsets.UTF_8));
  }

  private String text(List<QueryInfo> running) {
    Family values = new Family("tapline_result_value", "A row's value in the latest window");
    Family ends =
        new Family("tapline_result_window_end_seconds", "End of the latest window, unix time");
    Family packets =
        new Family("tapline_result_packets", "Packets that the latest window is based on");
    Family losses = new Family("tapline_result_dropped", "Losses in the latest window, by reason");
    for (QueryInfo query : running) {
      for (WindowResult window : queries.results().latestWindows(query.id())) {
        String labels = labels(query.id(), window);
        ends.add(labels, window.windowEndNs() / NS_PER_SECOND);
        packets.add(labels, window.completeness().path("packets_in").asDouble());
        window
            .completeness()
            .path("dropped")
            .properties()
            .forEach(
                loss ->
                    losses.add(
                        labels + label("reason", loss.getKey()), loss.getValue().asDouble()));
        rows(window, labels, values);
      }
    }
    return values.text() + ends.text() + packets.text() + losses.text();
  }

  private static void rows(WindowResult window, String labels, Family values) {
    int shown = 0;
    for (JsonNode row : window.rows()) {
      if (shown < MAX_ROWS && row.path("value").isNumber()) {
        values.add(labels + label("key", key(row.path("key"))), row.path("value").asDouble());
        shown++;
      }
    }
  }

  /** Returns a single field's value alone, and several fields as {@code name=value}. */
  private static String key(JsonNode key) {
    List<String> parts = new ArrayList<>();
    key.properties()
        .forEach(
            part ->
                parts.add((key.size() == 1 ? "" : part.getKey() + "=") + text(part.getValue())));
    return String.join(", ", parts);
  }

  private static String text(JsonNode value) {
    return value.isNull() ? "-" : value.asText();
  }

  private static String labels(String query, WindowResult window) {
    return "query=\"%s\",processor=\"%s\",index=\"%d\""
        .formatted(query, window.name(), window.processor());
  }

  private static String label(String name, String text) {
    String escaped = text.replace("\\", "\\\\").replace("\"", "\\\"").replace("\n", "\\n");
    return "," + name + "=\"" + escaped + "\"";
  }

  /** A metric family: all gauges with the same name. */
  private static final class Family {
    private final String name;
    private final StringBuilder text = new StringBuilder();

    Family(String name, String help) {
      this.name = name;
      text.append("# HELP %s %s\n# TYPE %s gauge\n".formatted(name, help, name));
    }

    void add(String labels, double value) {
      text.append(String.format(Locale.ROOT, "%s{%s} %s\n", name, labels, value));
    }

    String text() {
      return text.toString();
    }
  }
}
