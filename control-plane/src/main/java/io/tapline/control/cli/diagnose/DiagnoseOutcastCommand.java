package io.tapline.control.cli.diagnose;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.tapline.control.cli.client.ApiClient;
import io.tapline.control.cli.client.ServerOption;
import io.tapline.control.cli.console.CommandException;
import io.tapline.control.cli.console.Console;
import io.tapline.control.cli.console.TextTable;
import io.tapline.control.cli.console.TextTable.Column;
import io.tapline.control.cli.console.TextTable.Kind;
import io.tapline.control.cli.options.Moment;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** {@code tapline diagnose outcast}. */
@Command(
    name = "outcast",
    description =
        "Shows how flows to a host share the path, and whether flows over few switches are starved.")
final class DiagnoseOutcastCommand implements Callable<Integer> {
  private static final double BITS_PER_MBIT = 1e6;

  private final Console console;

  @Parameters(paramLabel = "ADDRESS", description = "The receiving host's IPv4 address.")
  private String to;

  @Option(
      names = "--from",
      paramLabel = "T",
      description = "Start at T, " + Moment.HELP + ". Default: the first segment.")
  private String from;

  @Option(
      names = "--for",
      paramLabel = "D",
      defaultValue = "1s",
      description = "Duration. Default: ${DEFAULT-VALUE}.")
  private String span;

  @Option(
      names = "--every",
      paramLabel = "D",
      defaultValue = "10ms",
      description = "Event time that each query covers. Default: ${DEFAULT-VALUE}.")
  private String every;

  @Option(
      names = "--out",
      paramLabel = "DIR",
      description =
          "Write the report to this folder as CSV and SVG files, like Figure 10 of the Confluo paper.")
  private Path folder;

  @Mixin private ServerOption server;

  @Option(names = "--json", description = "Print a JSON object.")
  private boolean json;

  DiagnoseOutcastCommand(Console console) {
    this.console = console;
  }

  @Override
  public Integer call() {
    ObjectNode request = ApiClient.MAPPER.createObjectNode().put("program", "outcast");
    request.put("to", to);
    if (from != null) {
      request.put("from_ns", Moment.nanoseconds("--from", from, Instant.now()));
    }
    request.put("for_ns", Moment.duration("--for", span));
    request.put("every_ns", Moment.duration("--every", every));
    JsonNode report = server.client().post(DiagnoseCommand.PATH, request);
    if (json) {
      console.json(report);
    } else {
      print(report);
    }
    if (folder != null) {
      OutcastFigures.of(report).forEach(this::write);
    }
    DiagnoseCommand.notes(console, report);
    return 0;
  }

  private void print(JsonNode report) {
    if (!report.path("flows").isEmpty()) {
      console.line(flows(report.path("flows")));
      console.line(links(report.path("links")));
    }
    DiagnoseCommand.verdict(console, report);
  }

  private String flows(JsonNode rows) {
    TextTable table =
        new TextTable(
            List.of(
                new Column("flow", Kind.NAME),
                new Column("switches", Kind.NUMBER),
                new Column("segments", Kind.NUMBER),
                new Column("retransmitted", Kind.NUMBER),
                new Column("Mbit/s", Kind.NUMBER)),
            console.columns());
    for (JsonNode row : rows) {
      table.add(
          List.of(
              row.path("flow").asText(),
              row.path("hops").asText(),
              String.format(Locale.ROOT, "%,d", row.path("segments").asLong()),
              String.format(Locale.ROOT, "%,d", row.path("retransmissions").asLong()),
              String.format(
                  Locale.ROOT, "%,.1f", row.path("bits_per_second").asDouble() / BITS_PER_MBIT)));
    }
    return table.render("");
  }

  private String links(JsonNode rows) {
    TextTable table =
        new TextTable(
            List.of(new Column("link", Kind.NAME), new Column("segments", Kind.NUMBER)),
            console.columns());
    for (JsonNode row : rows) {
      String next = row.path("to").asLong() == 0 ? to : row.path("to").asText();
      table.add(
          List.of(
              row.path("from").asText() + " > " + next,
              String.format(Locale.ROOT, "%,d", row.path("segments").asLong())));
    }
    return table.render("");
  }

  private void write(String name, String text) {
    try {
      Files.createDirectories(folder);
      Files.writeString(folder.resolve(name), text);
    } catch (IOException e) {
      throw new CommandException("can't write " + folder.resolve(name) + ": " + e.getMessage(), e);
    }
  }
}
