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
import io.tapline.control.cli.console.UsageException;
import io.tapline.control.cli.drill.HeaderOutput;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.concurrent.Callable;
import java.util.stream.StreamSupport;
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
      "  tapline diagnose queue leaf1:spine2 --from 5m",
      "--pcapng needs MultiLog nodes that keep the packets of hosts."
    })
final class DiagnoseQueueCommand implements Callable<Integer> {
  /**
   * Margin around a burst: its times do not include the constant offset between the two taps, and
   * hosts stamp packets with their own clocks.
   */
  private static final long AROUND_NS = 1_000_000;

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

  @Option(
      names = "--pcapng",
      paramLabel = "FILE",
      description =
          "Also write the packets of the worst burst's culprits and victims to a file for Wireshark.")
  private Path file;

  DiagnoseQueueCommand(Console console) {
    this.console = console;
  }

  @Override
  public Integer call() throws IOException {
    if (queue.isEmpty()) {
      if (file != null) {
        throw new UsageException("--pcapng needs a queue, for example leaf1:spine2");
      }
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

  private void diagnose() throws IOException {
    ObjectNode request = ApiClient.MAPPER.createObjectNode().put("program", "queue");
    request.put("queue", queue);
    span.addTo(request);
    JsonNode report = server.client().post(DiagnoseCommand.PATH, request);
    if (json) {
      console.json(report);
    } else {
      print(report);
    }
    Optional<JsonNode> worst = worst(report.path("bursts"));
    if (file != null) {
      JsonNode burst =
          worst.orElseThrow(
              () -> new CommandException("no burst at " + queue + ": there is nothing to write"));
      new HeaderOutput(console, json).write(server.client(), packets(burst), file);
    } else if (!json && worst.isPresent()) {
      console.hint(
          "--pcapng FILE writes the packets of the worst burst's culprits and victims, if hosts keep them");
    }
  }

  private static Optional<JsonNode> worst(JsonNode bursts) {
    return StreamSupport.stream(bursts.spliterator(), false)
        .max(Comparator.comparingLong(burst -> burst.path("delay_ns").asLong()));
  }

  /** Returns the drill-down request for the packets of a burst. */
  private static ObjectNode packets(JsonNode burst) {
    ObjectNode request = ApiClient.MAPPER.createObjectNode();
    request.set("filter", burst.path("filter"));
    request.put("from_ns", burst.path("begin_ns").asLong() - AROUND_NS);
    request.put("to_ns", burst.path("end_ns").asLong() + AROUND_NS);
    return request;
  }

  private void print(JsonNode report) {
    if (!report.path("bursts").isEmpty()) {
      console.line(table(report.path("bursts")));
      TextTable victims = victims(report.path("bursts"));
      if (!victims.isEmpty()) {
        console.line(victims.render(""));
      }
    }
    DiagnoseCommand.verdict(console, report);
    if (report.path("incomplete").asBoolean()) {
      console.hint(
          "bursts that ended before %s UTC may be missing: select the time with --from and --to"
              .formatted(time(report.path("complete_since_ns").asLong())));
    }
  }

  /**
   * Returns a table with a line for each culprit; only the first line of a burst has its figures.
   */
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
      boolean isFirst = true;
      for (JsonNode culprit : burst.path("culprits")) {
        List<String> row = new ArrayList<>(isFirst ? figures : List.of("", "", "", "", "", ""));
        row.add(culprit.path("source").asText() + " > " + culprit.path("destination").asText());
        row.add(tenths(100 * culprit.path("share").asDouble()));
        table.add(row);
        isFirst = false;
      }
    }
    return table.render("");
  }

  /** Returns a table with a line for each flow that was delayed by others. */
  private TextTable victims(JsonNode bursts) {
    TextTable table =
        new TextTable(
            List.of(
                new Column("begin (UTC)", Kind.NAME),
                new Column("victim", Kind.NAME),
                new Column("packets", Kind.NUMBER),
                new Column("longest wait ms", Kind.NUMBER),
                new Column("total wait ms", Kind.NUMBER)),
            console.columns());
    for (JsonNode burst : bursts) {
      for (JsonNode victim : burst.path("victim_flows")) {
        table.add(
            List.of(
                time(burst.path("begin_ns").asLong()),
                victim.path("source").asText() + " > " + victim.path("destination").asText(),
                number(victim.path("packets").asLong()),
                tenths(victim.path("delay_ns").asLong() / 1e6),
                tenths(victim.path("waited_ns").asLong() / 1e6)));
      }
    }
    return table;
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
