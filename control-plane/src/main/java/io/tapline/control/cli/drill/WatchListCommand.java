package io.tapline.control.cli.drill;

import com.fasterxml.jackson.databind.JsonNode;
import io.tapline.control.cli.client.ServerOption;
import io.tapline.control.cli.console.Console;
import io.tapline.control.cli.console.TextTable;
import io.tapline.control.cli.console.TextTable.Column;
import io.tapline.control.cli.console.TextTable.Kind;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

/** {@code tapline watch list}. */
@Command(name = "list", description = "Lists the watches.")
final class WatchListCommand implements Callable<Integer> {
  private final Console console;

  @Mixin private ServerOption server;

  @Option(names = "--json", description = "Print a JSON line per watch.")
  private boolean json;

  WatchListCommand(Console console) {
    this.console = console;
  }

  @Override
  public Integer call() {
    JsonNode watches = server.client().get(WatchCommand.PATH).path("watches");
    if (json) {
      watches.forEach(watch -> console.json(watch));
    } else if (watches.isEmpty()) {
      console.line("no watches; add one with tapline watch add");
    } else {
      console.print(table(watches, console.columns()).render(""));
      watches.forEach(watch -> WatchHistory.lines(watch).forEach(console::line));
    }
    return 0;
  }

  private static TextTable table(JsonNode watches, int columns) {
    TextTable table =
        new TextTable(
            List.of(
                new Column("id", Kind.NAME),
                new Column("filter", Kind.TEXT),
                new Column("aggregate", Kind.NAME),
                new Column("by", Kind.TEXT),
                new Column("when", Kind.TEXT),
                new Column("run", Kind.NAME),
                new Column("hosts", Kind.TEXT),
                new Column("state", Kind.NAME)),
            columns);
    for (JsonNode watch : watches) {
      table.add(
          List.of(
              watch.path("id").asText(),
              watch.path("filter").asText(),
              watch.path("aggregate").asText(),
              joined(watch.path("group_by"), "-"),
              watch.path("when").asText(),
              watch.path("run").asText(),
              watch.path("query").asText(joined(watch.path("nodes"), "all")),
              watch.has("ended_ns") ? "ended" : "active"));
    }
    return table;
  }

  private static String joined(JsonNode texts, String none) {
    List<String> all = new ArrayList<>();
    texts.forEach(text -> all.add(text.asText()));
    return all.isEmpty() ? none : String.join(", ", all);
  }
}
