package io.tapline.control.cli.diagnose;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.tapline.control.cli.client.ApiClient;
import io.tapline.control.cli.client.ServerOption;
import io.tapline.control.cli.console.Console;
import io.tapline.control.cli.console.TextTable;
import io.tapline.control.cli.console.TextTable.Column;
import io.tapline.control.cli.console.TextTable.Kind;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

/** {@code tapline diagnose loss}. */
@Command(
    name = "loss",
    description =
        "Shows which flows retransmit, at which switches their segments were lost, and why.",
    footer = {"", "Start with tapline diagnose track: only segments since then are known."})
final class DiagnoseLossCommand implements Callable<Integer> {
  private static final double NS_PER_MS = 1e6;

  private final Console console;

  @Mixin private SpanOptions span;
  @Mixin private ServerOption server;

  @Option(names = "--json", description = "Print a JSON object.")
  private boolean json;

  DiagnoseLossCommand(Console console) {
    this.console = console;
  }

  @Override
  public Integer call() {
    ObjectNode request = ApiClient.MAPPER.createObjectNode().put("program", "loss");
    span.addTo(request);
    JsonNode report = server.client().post(DiagnoseCommand.PATH, request);
    if (json) {
      console.json(report);
    } else {
      print(report);
    }
    DiagnoseCommand.notes(console, report);
    return 0;
  }

  private void print(JsonNode report) {
    if (!report.path("retransmissions").isEmpty()) {
      console.line(flows(report.path("retransmissions")));
    }
    for (JsonNode finding : report.path("findings")) {
      console.line(finding(finding));
    }
    DiagnoseCommand.verdict(console, report);
  }

  private String flows(JsonNode rows) {
    TextTable table =
        new TextTable(
            List.of(
                new Column("flow", Kind.NAME),
                new Column("priority", Kind.NUMBER),
                new Column("segments", Kind.NUMBER),
                new Column("retransmitted", Kind.NUMBER),
                new Column("times", Kind.NUMBER),
                new Column("interval ms", Kind.NUMBER),
                new Column("σ ms", Kind.NUMBER)),
            console.columns());
    for (JsonNode row : rows) {
      JsonNode intervals = row.path("intervals");
      table.add(
          List.of(
              row.path("flow").asText(),
              row.path("priority").asText(),
              count(row.path("segments")),
              count(row.path("retransmissions")),
              count(intervals.path("episodes")),
              ms(intervals.path("mean_ns")),
              ms(intervals.path("deviation_ns"))));
    }
    return table.render("");
  }

  private String finding(JsonNode finding) {
    TextTable table =
        new TextTable(
            List.of(
                new Column("at " + place(finding), Kind.NAME),
                new Column("priority", Kind.NUMBER),
                new Column("segments", Kind.NUMBER),
                new Column("lost", Kind.NUMBER)),
            console.columns());
    for (JsonNode flow : finding.path("flows")) {
      table.add(
          List.of(
              flow.path("flow").asText(),
              flow.path("priority").asText(),
              count(flow.path("segments")),
              count(flow.path("losses"))));
    }
    return table.render("");
  }

  private static String place(JsonNode finding) {
    StringBuilder text = new StringBuilder();
    finding
        .path("switches")
        .forEach(value -> text.append(text.isEmpty() ? "" : " or ").append(value.asLong()));
    return finding.path("next").asLong() == 0
        ? text.toString()
        : text + " towards " + finding.path("next").asLong();
  }

  private static String count(JsonNode number) {
    return String.format(Locale.ROOT, "%,d", number.asLong());
  }

  private static String ms(JsonNode ns) {
    return String.format(Locale.ROOT, "%,.1f", ns.asDouble() / NS_PER_MS);
  }
}
