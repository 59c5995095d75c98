package io.tapline.control.rest.queries;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.javalin.http.Context;
import io.tapline.control.query.QueryInfo;
import io.tapline.control.query.QueryService;
import io.tapline.control.query.WindowResult;
import io.tapline.control.rest.http.Entry;
import io.tapline.control.rest.http.Json;
import io.tapline.control.rest.http.Problem;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;

/**
 * Reads the stored rows of a query in one of two ways, both bounded: window by window after an
 * entry, until there are at least {@link #MAX_ROWS}; or, with a limit, only the latest rows.
 */
final class Results {
  static final int MAX_ROWS = 10_000;

  private final QueryService queries;
  private final QueryInfo query;
  private final Deque<JsonNode> rows = new ArrayDeque<>();
  private String last;
  private long omitted;
  private boolean more;

  private Results(QueryService queries, QueryInfo query, String cursor) {
    this.queries = queries;
    this.query = query;
    this.last = cursor;
  }

  /**
   * The requested rows.
   *
   * @param processors indexes of the processors
   * @param limit maximum number of latest rows; 0 for all rows, page by page
   * @param after entry of the window stream; empty for the beginning
   */
  record Selection(Set<Integer> processors, int limit, String after) {
    static Selection of(Context ctx, JsonNode plan) {
      return new Selection(
          processors(ctx.queryParam("processor"), plan.path("processors")),
          limit(ctx.queryParam("limit")),
          Entry.parse("after", ctx.queryParam("after")));
    }

    private static int limit(String text) {
      if (text == null) {
        return 0;
      }
      if (!text.matches("\\d{1,5}")
          || Integer.parseInt(text) < 1
          || Integer.parseInt(text) > MAX_ROWS) {
        throw Problem.badRequest(
                "limit=" + text + ": it must be a number of rows from 1 to " + MAX_ROWS)
            .asException();
      }
      return Integer.parseInt(text);
    }

    private static Set<Integer> processors(String wanted, JsonNode all) {
      Set<Integer> chosen = new TreeSet<>();
      for (int p = 0; p < all.size(); p++) {
        if (wanted == null
            || wanted.equals(Integer.toString(p))
            || same(wanted, all.get(p).path("name").asText())) {
          chosen.add(p);
        }
      }
      if (chosen.isEmpty()) {
        throw Problem.badRequest("processor=" + wanted + ": this query has " + described(all))
            .asException();
      }
      return chosen;
    }

    /** Compares names as in the query language: '-' and '_' are equivalent, and case is ignored. */
    private static boolean same(String wanted, String name) {
      return name.equalsIgnoreCase(wanted.replace('_', '-'));
    }

    private static String described(JsonNode all) {
      StringBuilder text = new StringBuilder();
      for (int p = 0; p < all.size(); p++) {
        text.append(p == 0 ? "" : ", ")
            .append(p)
            .append(" (")
            .append(all.get(p).path("name").asText())
            .append(')');
      }
      return text.toString();
    }
  }

  static ObjectNode json(
      QueryService queries, RowCounts counts, QueryInfo query, Selection selection) {
    Results results = new Results(queries, query, selection.after());
    if (selection.limit() > 0) {
      RowCounts.Skip skip =
          counts.beforeLatest(
              query.id(), selection.after(), selection.processors(), selection.limit());
      results.last = skip.last();
      results.omitted = skip.rows();
    }
    results.read(selection);
    return results.json();
  }

  private void read(Selection selection) {
    List<WindowResult> page;
    do {
      page = queries.results().windowsAfter(query.id(), last);
      for (WindowResult window : page) {
        if (selection.limit() == 0 && rows.size() >= MAX_ROWS) {
          more = true;
          return;
        }
        add(window, selection);
      }
    } while (!page.isEmpty());
  }

  private void add(WindowResult window, Selection selection) {
    last = window.entry();
    if (!selection.processors().contains(window.processor())) {
      return;
    }
    for (JsonNode row : window.rows()) {
      rows.addLast(row);
      if (selection.limit() > 0 && rows.size() > selection.limit()) {
        rows.removeFirst();
        omitted++;
      }
    }
  }

  private ObjectNode json() {
    ObjectNode json = Json.object().put("query", query.id()).put("state", query.state().text());
    ArrayNode array = json.putArray("rows");
    rows.forEach(array::add);
    json.put("rows_omitted", omitted).put("last_entry", last).put("more", more);
    json.set("completeness", queries.results().totals(query.id()));
    return json;
  }
}
