package io.tapline.control.cli.diagnose;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.tapline.control.cli.client.ApiClient;
import io.tapline.control.cli.client.ServerOption;
import io.tapline.control.cli.console.Console;
import io.tapline.control.cli.console.TextTable;
import io.tapline.control.cli.console.TextTable.Column;
import io.tapline.control.cli.console.TextTable.Kind;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** {@code tapline diagnose queue}. */
@Command(
    name = "queue",
    description = {
      "Shows which flows filled the queue of a port, and how long packets waited.",
      "Without a queue, lists the measured ones."
    },
    footer = {
      "",
      "It reads the bursts that queries have reported:",
      "  tapline query submit \"PARSE queue_burst(delay=1ms) FROM * TO * AT leaf1:spine2 PROCESS (top-k)\"",
      "  tapline diagnose queue leaf1:spine2 --from 5m"
    })
final class DiagnoseQueueCommand implements Callable<Integer> {
  private final Console console;

  @Parameters(
      paramLabel = "SWITCH:PORT",
      arity = "0..1",
      description = "The queue: the switch, and a neighbour or port number.")
  private String queue = "";

  @Mixin private SpanOptions span;
  @Mixin private ServerOption server;

  @Option(names = "--json", description = "Print a JSON object.")
  private boolean json;

  DiagnoseQueueCommand(Console console) {
    this.console = console;
  }

  @Override
  public Integer call() {
    if (queue.isEmpty()) {
      list();
    } else {
      diagnose();
    }
    return 0;
  }

  private void list() {
    JsonNode queues = server.client().get("/api/v1/queues" + span.query()).path("queues");
    if (json) {
      queues.forEach(one -> console.json(one));
    } else if (queues.isEmpty()) {
      console.line("no query measures queues; tapline diagnose queue --help shows an example");
    } else {
      console.print(queueTable(queues).render(""));
    }
  }

  private TextTable queueTable(JsonNode queues) {
    TextTable table =
        new TextTable(
            List.of(
                new Column("queue", Kind.NAME),
                new Column("neighbour", Kind.NAME),
                new Column("bursts", Kind.NUMBER),
                new Column("longest wait ms", Kind.NUMBER),
                new Column("waited too long", Kind.NUMBER),
                new Column("lost", Kind.NUMBER),
                new Column("latest burst (UTC)", Kind.NAME)),
            console.columns());
    for (JsonNode one : queues) {
      table.add(
          List.of(
              one.path("queue").asText(),
              one.path("neighbour").asText("-"),
              number(one.path("bursts").asLong()) + (one.path("incomplete").asBoolean() ? "+" : ""),
              one.has("delay_ns") ? tenths(one.path("delay_ns").asLong() / 1e6) : "-",
              number(one.path("victims").asLong()),
              number(one.path("lost").asLong()),
              one.has("latest_ns") ? time(one.path("latest_ns").asLong()) : "-"));
    }
    return table;
  }

  private void diagnose() {
    ObjectNode request = ApiClient.MAPPER.createObjectNode().put("program", "queue");
    request.put("queue", queue);
    span.addTo(request);
    JsonNode report = server.client().post(DiagnoseCommand.PATH, request);
    if (json) {
      console.json(report);
      return;
    }
    if (!report.path("bursts").isEmpty()) {
      console.line(table(report.path("bursts")));
    }
    DiagnoseCommand.verdict(console, report);
    if (report.path("incomplete").asBoolean()) {
      console.hint("there were more bursts: narrow the time with --from and --to");
    }
  }

  /** A line for each culprit; the burst's figures are in its first one. */
  private String table(JsonNode bursts) {
    TextTable table =
        new TextTable(
            List.of(
                new Column("begin (UTC)", Kind.NAME),
                new Column("ms", Kind.NUMBER),
                new Column("longest wait ms", Kind.NUMBER),
                new Column("peak kB", Kind.NUMBER),
                new Column("waited too long", Kind.NUMBER),
                new Column("lost", Kind.NUMBER),
                new Column("culprit", Kind.NAME),
                new Column("share %", Kind.NUMBER)),
            console.columns());
    for (JsonNode burst : bursts) {
      List<String> figures =
          List.of(
              time(burst.path("begin_ns").asLong()),
              tenths((burst.path("end_ns").asLong() - burst.path("begin_ns").asLong()) / 1e6),
              tenths(burst.path("delay_ns").asLong() / 1e6),
              tenths(burst.path("peak_bytes").asLong() / 1e3),
              number(burst.path("victims").asLong()),
              number(burst.path("lost").asLong()));
      boolean first = true;
      for (JsonNode culprit : burst.path("culprits")) {
        List<String> row = new ArrayList<>(first ? figures : List.of("", "", "", "", "", ""));
        row.add(culprit.path("source").asText() + " > " + culprit.path("destination").asText());
        row.add(tenths(100 * culprit.path("share").asDouble()));
        table.add(row);
        first = false;
      }
    }
    return table.render("");
  }

  private static String time(long ns) {
    return Instant.EPOCH.plusNanos(ns).toString().replace("Z", "");
  }

  private static String number(long count) {
    return String.format(Locale.ROOT, "%,d", count);
  }

  private static String tenths(double number) {
    return String.format(Locale.ROOT, "%,.1f", number);
  }
}
