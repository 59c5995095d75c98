package io.tapline.control.cli.diagnose;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.tapline.control.cli.client.ApiClient;
import io.tapline.control.cli.client.ServerOption;
import io.tapline.control.cli.console.Console;
import io.tapline.control.cli.console.TextTable;
import io.tapline.control.cli.console.TextTable.Column;
import io.tapline.control.cli.console.TextTable.Kind;
import io.tapline.control.cli.console.UsageException;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** {@code tapline diagnose path}. */
@Command(
    name = "path",
    description = "Shows packets that traversed forbidden switches or bypassed required ones.",
    footer = {
      "",
      "Example: no packet of tenant A may pass switch 203",
      "  tapline diagnose path \"src_ip in 10.1.0.0/16\" --avoid 203",
      "To be alerted within milliseconds: tapline watch add \"path contains 203\" --when \"COUNT > 0\" --window 10ms"
    })
final class DiagnosePathCommand implements Callable<Integer> {
  private final Console console;

  @Parameters(
      paramLabel = "FILTER",
      defaultValue = "",
      description = "Headers to select, in the language of MultiLog. Default: all.")
  private String filter = "";

  @Option(
      names = "--avoid",
      paramLabel = "SWITCH",
      split = ",",
      description = "Switches that packets must not traverse.")
  private List<Long> avoid = new ArrayList<>();

  @Option(
      names = "--through",
      paramLabel = "SWITCH",
      split = ",",
      description = "Switches that packets must traverse.")
  private List<Long> through = new ArrayList<>();

  @Mixin private SpanOptions span;
  @Mixin private ServerOption server;

  @Option(names = "--json", description = "Print a JSON object.")
  private boolean json;

  DiagnosePathCommand(Console console) {
    this.console = console;
  }

  @Override
  public Integer call() {
    if (avoid.isEmpty() && through.isEmpty()) {
      throw new UsageException("no rule: give --avoid or --through a switch");
    }
    ObjectNode request = ApiClient.MAPPER.createObjectNode().put("program", "path");
    request.put("filter", filter);
    avoid.forEach(request.putArray("avoid")::add);
    through.forEach(request.putArray("through")::add);
    span.addTo(request);
    JsonNode report = server.client().post(DiagnoseCommand.PATH, request);
    if (json) {
      console.json(report);
    } else {
      if (!report.path("violations").isEmpty()) {
        console.line(table(report.path("violations")));
      }
      DiagnoseCommand.verdict(console, report);
    }
    DiagnoseCommand.notes(console, report);
    return 0;
  }

  private String table(JsonNode violations) {
    TextTable table =
        new TextTable(
            List.of(
                new Column("flow", Kind.NAME),
                new Column("packets", Kind.NUMBER),
                new Column("violating", Kind.NUMBER),
                new Column("first (UTC)", Kind.NAME)),
            console.columns());
    for (JsonNode row : violations) {
      table.add(
          List.of(
              row.path("flow").asText(),
              String.format(Locale.ROOT, "%,d", row.path("packets").asLong()),
              String.format(Locale.ROOT, "%,d", row.path("violating").asLong()),
              Instant.EPOCH.plusNanos(row.path("first_ns").asLong()).toString().replace("Z", "")));
    }
    return table.render("");
  }
}
