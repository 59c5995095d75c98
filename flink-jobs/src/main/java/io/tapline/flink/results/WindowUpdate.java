package io.tapline.flink.results;

import io.tapline.flink.ProcessorSpec;
import io.tapline.flink.QuerySpec;
import io.tapline.flink.accounting.Accounts;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;

/**
 * A closed window of one processor with its rows. The rows of a trigger are the alerts that begin
 * or end with the window.
 *
 * @param accounts counters from which the window's completeness is computed
 */
public record WindowUpdate(WindowRows window, Accounts accounts) implements Update {
  ProcessorSpec processor(QuerySpec query) {
    return query.processors().get(window.processor());
  }

  /** Returns the completeness of the window, which all rows share, as JSON. */
  String completeness(QuerySpec query) throws IOException {
    List<String> silent = window.silent().stream().map(query.monitors()::get).toList();
    return Json.completeness(accounts, processor(query), silent);
  }

  /** Returns each row as JSON, in order. */
  List<String> rows(QuerySpec query, String completeness) throws IOException {
    Json json = new Json(query.query(), processor(query));
    boolean ranked = processor(query).isRanking();
    boolean[] tied = ranked ? UndecidedRanks.of(window.rows()) : new boolean[window.rows().size()];
    List<String> rows = new ArrayList<>(tied.length);
    for (int i = 0; i < tied.length; i++) {
      rows.add(json.row(window, window.rows().get(i), i + 1, tied[i], completeness));
    }
    return rows;
  }
}
