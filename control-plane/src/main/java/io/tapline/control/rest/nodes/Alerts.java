package io.tapline.control.rest.nodes;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.MissingNode;
import io.javalin.http.Context;
import io.tapline.control.access.Role;
import io.tapline.control.drill.DrillException;
import io.tapline.control.drill.WatchRecord;
import io.tapline.control.drill.WatchService;
import io.tapline.control.drill.WatchService.Alert;
import io.tapline.control.query.QueryService;
import io.tapline.control.query.WindowResult;
import io.tapline.control.rest.http.Access;
import java.util.List;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Finds the alerts of watches and queries that a caller may see. */
final class Alerts {
  /** ID of a query's alert: query, processor, hash of the group, time. */
  private static final Pattern OF_QUERY = Pattern.compile("(.+)-(\\d{1,4})-[0-9a-f]{16}-\\d+");

  private final WatchService watches;
  private final QueryService queries;

  Alerts(WatchService watches, QueryService queries) {
    this.watches = watches;
    this.queries = queries;
  }

  /** Returns true if the caller sees the alerts of all tenants. */
  static boolean seesAll(Context ctx) {
    return Access.known(ctx).role() == Role.ADMIN;
  }

  /** Returns the headers behind an alert. */
  AlertHeaders headers(Context ctx, String id) throws DrillException {
    Optional<AlertHeaders> headers = ofWatch(ctx, id);
    if (headers.isEmpty()) {
      headers = ofQuery(ctx, id);
    }
    return headers.orElseThrow(
        () ->
            DrillException.notFound(
                "there is no alert %s: the server keeps the latest ones (tapline watch alerts)"
                    .formatted(id)));
  }

  private Optional<AlertHeaders> ofWatch(Context ctx, String id) throws DrillException {
    List<Alert> visible =
        seesAll(ctx) ? watches.alertsAfter(0) : watches.alertsAfter(Access.rights(ctx).tenant(), 0);
    Optional<Alert> alert =
        visible.stream().filter(candidate -> candidate.id().equals(id)).findFirst();
    if (alert.isEmpty()) {
      return Optional.empty();
    }
    WatchRecord watch = watches.records().get(alert.get().watch());
    if (watch == null || !watch.isActive()) {
      throw DrillException.notFound(
          "%s of alert %s has ended, and the nodes have removed its filter: tapline drill FILTER --from --to shows the window"
              .formatted(alert.get().watch(), id));
    }
    return Optional.of(AlertHeaders.of(alert.get(), watch.spec()));
  }

  private Optional<AlertHeaders> ofQuery(Context ctx, String id) throws DrillException {
    Matcher parts = OF_QUERY.matcher(id);
    if (!parts.matches() || !Access.owns(ctx, parts.group(1))) {
      return Optional.empty();
    }
    String query = parts.group(1);
    String cursor = "";
    for (List<WindowResult> page = queries.results().windowsAfter(query, cursor);
        !page.isEmpty();
        page = queries.results().windowsAfter(query, cursor)) {
      for (WindowResult window : page) {
        for (JsonNode row : window.rows()) {
          if (row.path("alert").path("id").asText().equals(id)) {
            return Optional.of(QueryAlert.headers(id, row, processor(query, window)));
          }
        }
      }
      cursor = page.get(page.size() - 1).entry();
    }
    return Optional.empty();
  }

  private JsonNode processor(String query, WindowResult window) {
    return queries
        .plan(query)
        .orElseGet(MissingNode::getInstance)
        .path("processors")
        .path(window.processor());
  }
}
