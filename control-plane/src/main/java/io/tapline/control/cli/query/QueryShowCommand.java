package io.tapline.control.cli.query;

import com.fasterxml.jackson.databind.JsonNode;
import io.tapline.control.cli.client.ApiClient;
import io.tapline.control.cli.client.ServerOption;
import io.tapline.control.cli.console.Console;
import io.tapline.control.cli.results.Completeness;
import io.tapline.control.cli.results.ResultTables;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** {@code tapline query show}. */
@Command(name = "show", description = "Shows one query: text, state, times and counts so far.")
final class QueryShowCommand implements Callable<Integer> {
  private final Console console;

  @Parameters(paramLabel = "ID", description = "The query's ID.")
  private String id;

  @Mixin private ServerOption server;

  @Option(names = "--json", description = "Print JSON, the plan included.")
  private boolean json;

  QueryShowCommand(Console console) {
    this.console = console;
  }

  @Override
  public Integer call() {
    JsonNode query = server.client().get(ApiClient.query(id, ""));
    if (json) {
      console.json(query);
      return 0;
    }
    console.line("%s  %s".formatted(query.path("id").asText(), query.path("state").asText()));
    query.path("text").asText().lines().forEach(line -> console.line("    " + line));
    time("submitted", query.path("submitted_ns"));
    time("started", query.path("started_ns"));
    time("ended", query.path("ended_ns"));
    if (!query.path("error").asText().isEmpty()) {
      console.line("error: " + query.path("error").asText());
    }
    query.path("notes").forEach(note -> console.line("note: " + note.asText()));
    if (!query.path("totals").isEmpty()) {
      console.line(Completeness.line(query.path("totals")));
    }
    return 0;
  }

  private void time(String label, JsonNode ns) {
    if (ns.asLong() > 0) {
      console.line("%-9s %s UTC".formatted(label, ResultTables.dayAndTime(ns.asLong())));
    }
  }
}
