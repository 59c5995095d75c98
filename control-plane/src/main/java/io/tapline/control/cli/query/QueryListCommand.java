package io.tapline.control.cli.query;

import com.fasterxml.jackson.databind.JsonNode;
import io.tapline.control.cli.client.ServerOption;
import io.tapline.control.cli.console.Console;
import io.tapline.control.cli.console.TextTable;
import io.tapline.control.cli.console.TextTable.Column;
import io.tapline.control.cli.console.TextTable.Kind;
import io.tapline.control.cli.results.ResultTables;
import java.util.List;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

/** {@code tapline query list}. */
@Command(name = "list", description = "Lists the server's queries, latest first.")
final class QueryListCommand implements Callable<Integer> {
  private final Console console;

  @Mixin private ServerOption server;

  @Option(names = "--json", description = "Print a JSON line per query.")
  private boolean json;

  QueryListCommand(Console console) {
    this.console = console;
  }

  @Override
  public Integer call() {
    JsonNode queries = server.client().get("/api/v1/queries").path("queries");
    if (json) {
      queries.forEach(query -> console.json(query));
    } else if (queries.isEmpty()) {
      console.line("no queries yet; start one with tapline query submit");
    } else {
      console.print(table(queries, console.columns()).render(""));
    }
    return 0;
  }

  private static TextTable table(JsonNode queries, int columns) {
    TextTable table =
        new TextTable(
            List.of(
                new Column("id", Kind.NAME),
                new Column("state", Kind.NAME),
                new Column("submitted (UTC)", Kind.NAME),
                new Column("query", Kind.TEXT)),
            columns);
    for (JsonNode query : queries) {
      table.add(
          List.of(
              query.path("id").asText(),
              query.path("state").asText(),
              ResultTables.dayAndTime(query.path("submitted_ns").asLong()),
              query.path("text").asText().replaceAll("\\s+", " ")));
    }
    return table;
  }
}
