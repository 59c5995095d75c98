package io.tapline.bench;

import com.fasterxml.jackson.databind.ObjectMapper;
import io.tapline.bench.events.EventBenchmark;
import io.tapline.control.cli.console.CommandException;
import io.tapline.control.cli.console.Console;
import io.tapline.control.cli.console.TextTable;
import io.tapline.control.cli.console.UsageException;
import io.tapline.control.cli.options.Installation;
import io.tapline.control.embedded.EmbeddedServices;
import io.tapline.sim.streams.AlertLatency;
import io.tapline.sim.streams.AlertLatency.Outcome;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

/** {@code tapline bench alerts}: latency from a packet to its event and to its alert. */
@Command(
    name = "alerts",
    description =
        "Latency of events, and of a network-wide trigger over windows of 10 ms. Events need root.",
    footer = {
      "",
      "The latency of an event is from its packet to a client of the server's event stream,",
      "that of an alert from the window's end, through Kafka and Flink, to the message in Redis."
    })
final class BenchAlertsCommand implements Callable<Integer> {
  private static final ObjectMapper MAPPER = new ObjectMapper();
  private static final int WARM_UP_SECONDS = 30;
  private static final int WARM_UP_RATE = 100_000;

  /** Time after the warm-up during which the stream job catches up. */
  private static final int CALM_SECONDS = 15;

  private static final int CALM_RATE = 1_000;

  private final Console console;

  @Option(
      names = "--seconds",
      paramLabel = "N",
      defaultValue = "60",
      description = "Length (default ${DEFAULT-VALUE}).")
  private int seconds;

  @Option(
      names = "--flush-ms",
      paramLabel = "N",
      defaultValue = "100",
      description =
          "Sending interval of the monitors (default ${DEFAULT-VALUE}, like tapline-monitor).")
  private int flushMs;

  @Option(
      names = "--load",
      paramLabel = "N",
      defaultValue = "20000",
      description = "Other tuples per second (default ${DEFAULT-VALUE}).")
  private int load;

  @Option(
      names = "--burst-ms",
      paramLabel = "N",
      defaultValue = "150",
      description = "Mean time from one burst to the next (default ${DEFAULT-VALUE}).")
  private int burstMs;

  @Option(
      names = "--rate",
      paramLabel = "N",
      split = ",",
      defaultValue = "1000,100000",
      description = "Events per second, one phase each (default ${DEFAULT-VALUE}).")
  private List<Integer> rates;

  @Option(names = "--json", description = "Print the result as JSON, a line for each path.")
  private boolean json;

  @Option(
      names = "--only",
      paramLabel = "PATH",
      description = "Measure only this path: events or flink.")
  private Path only;

  /** The ways in which a packet reaches users: as an event, or in an alert of the stream job. */
  enum Path {
    events,
    flink
  }

  BenchAlertsCommand(Console console) {
    this.console = console;
  }

  @Override
  public Integer call() throws Exception {
    if (seconds < 1
        || flushMs < 1
        || load < 0
        || burstMs < 20
        || rates.stream().anyMatch(n -> n < 1)) {
      throw new UsageException(
          "--seconds, --flush-ms and --rate must be at least 1, --load 0 and --burst-ms 20");
    }
    boolean complete = true;
    if (only != Path.flink) {
      complete &= events();
    }
    if (only != Path.events) {
      complete &= alerts();
    }
    return complete ? 0 : 1;
  }

  /** Measures events. Returns true if every event arrived or was counted as missing or unseen. */
  private boolean events() throws Exception {
    TextTable table =
        TextTable.ofText(
            "events/s", "sent", "arrived", "missing", "unseen", "p50 ms", "p99 ms", "max ms");
    boolean complete = true;
    Installation installed = Installation.current();
    try (EventBenchmark benchmark =
        new EventBenchmark(installed.home().resolve("bin/tapline"), installed.programs())) {
      benchmark.measure(WARM_UP_RATE, WARM_UP_SECONDS);
      benchmark.measure(CALM_RATE, CALM_SECONDS);
      for (int rate : rates) {
        console.hint("events: " + rate + " per second for " + seconds + " s");
        EventBenchmark.Phase phase = benchmark.measure(rate, seconds);
        complete &= phase.sent() == phase.received() + phase.missing() + phase.unseen();
        if (json) {
          console.line(json(rate, phase));
        } else {
          table.add(
              List.of(
                  "" + rate,
                  "" + phase.sent(),
                  "" + phase.received(),
                  "" + phase.missing(),
                  "" + phase.unseen(),
                  fraction(phase.percentileMs(50)),
                  fraction(phase.percentileMs(99)),
                  fraction(phase.percentileMs(100))));
        }
      }
    }
    if (!json) {
      console.line(table.render(""));
    }
    return complete;
  }

  private static String json(int rate, EventBenchmark.Phase phase) {
    return MAPPER
        .createObjectNode()
        .put("path", "events")
        .put("rate", rate)
        .put("sent", phase.sent())
        .put("arrived", phase.received())
        .put("missing", phase.missing())
        .put("unseen", phase.unseen())
        .put("p50_ms", phase.percentileMs(50))
        .put("p99_ms", phase.percentileMs(99))
        .put("most_ms", phase.percentileMs(100))
        .toString();
  }

  private static String fraction(double milliseconds) {
    return String.format(Locale.ROOT, "%.2f", milliseconds);
  }

  /** Measures alerts. Returns true if no burst was missed. */
  private boolean alerts() throws Exception {
    Outcome outcome;
    try (EmbeddedServices services = EmbeddedServices.start()) {
      AlertLatency measuredLatency = new AlertLatency(seconds, flushMs, burstMs, load);
      outcome = measuredLatency.run(services.endpoints(), services.folder());
    }
    if (outcome.latenciesMs().isEmpty()) {
      throw new CommandException("no alert for " + outcome.missed() + " bursts");
    }
    print(outcome);
    return outcome.missed() == 0;
  }

  private void print(Outcome outcome) {
    if (json) {
      console.line(
          MAPPER
              .createObjectNode()
              .put("path", "flink")
              .put("alerts", outcome.latenciesMs().size())
              .put("missed", outcome.missed())
              .put("p50_ms", outcome.percentile(50))
              .put("p90_ms", outcome.percentile(90))
              .put("p99_ms", outcome.percentile(99))
              .put("most_ms", outcome.percentile(100))
              .toString());
      return;
    }
    TextTable table = TextTable.ofText("alerts", "missed", "p50 ms", "p90 ms", "p99 ms", "max ms");
    table.add(
        List.of(
            "" + outcome.latenciesMs().size(),
            "" + outcome.missed(),
            format(outcome.percentile(50)),
            format(outcome.percentile(90)),
            format(outcome.percentile(99)),
            format(outcome.percentile(100))));
    console.line(table.render(""));
  }

  private static String format(double milliseconds) {
    return String.format(Locale.ROOT, "%.0f", milliseconds);
  }
}
