package io.tapline.bench;

import com.fasterxml.jackson.databind.ObjectMapper;
import io.tapline.bench.events.EventBenchmark;
import io.tapline.bench.events.MeasuredServer;
import io.tapline.bench.events.TriggerBenchmark;
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
        "Latency of events, of triggers in the monitor, and of a network-wide trigger. Needs root, except with --only flink.",
    footer = {
      "",
      "The latency of an event is from its packet to a client of the server's event stream;",
      "that of a monitor's trigger from the packet that makes its condition true, or from the",
      "window's end, to the same client; that of an alert from the window's end, through Kafka",
      "and Flink, to the message in Redis."
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
      description = "Measure only this path: events, triggers or flink.")
  private Path only;

  /** The ways in which a packet reaches users: as an event, or by a trigger's event or alert. */
  enum Path {
    events,
    triggers,
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
      complete &= monitored();
    }
    if (only == null || only == Path.flink) {
      complete &= alerts();
    }
    return complete ? 0 : 1;
  }

  /** Measures the paths from the monitor without the stream job. */
  private boolean monitored() throws Exception {
    boolean complete = true;
    Installation installed = Installation.current();
    try (MeasuredServer server =
        new MeasuredServer(installed.home().resolve("bin/tapline"), installed.programs())) {
      if (only != Path.triggers) {
        complete &= events(server);
      }
      if (only != Path.events) {
        complete &= triggers(server);
      }
    }
    return complete;
  }

  /** Measures triggers. Returns true if each window with a packet had both events. */
  private boolean triggers(MeasuredServer server) throws Exception {
    TextTable table =
        TextTable.ofText("trigger reported", "windows", "arrived", "p50 ms", "p99 ms", "max ms");
    boolean complete = true;
    try (TriggerBenchmark benchmark = new TriggerBenchmark(server)) {
      console.hint("triggers: " + (WARM_UP_SECONDS + seconds) + " s");
      benchmark.measure(WARM_UP_SECONDS);
      benchmark.measure(seconds);
      for (boolean early : List.of(true, false)) {
        TriggerBenchmark.Outcome outcome = early ? benchmark.crossings() : benchmark.windows();
        complete &= outcome.isComplete();
        if (json) {
          console.line(json(early, outcome, benchmark.missing()));
          continue;
        }
        table.add(
            List.of(
                early ? "after the packet that crossed" : "after the window's end",
                "" + outcome.windows(),
                "" + outcome.latencies().ns().length,
                fraction(outcome.latencies().percentileMs(50)),
                fraction(outcome.latencies().percentileMs(99)),
                fraction(outcome.latencies().percentileMs(100))));
      }
    }
    if (!json) {
      console.line(table.render(""));
    }
    return complete;
  }

  private static String json(boolean early, TriggerBenchmark.Outcome outcome, long missing) {
    return MAPPER
        .createObjectNode()
        .put("path", "triggers")
        .put("since", early ? "packet" : "window_end")
        .put("windows", outcome.windows())
        .put("arrived", outcome.latencies().ns().length)
        .put("missing", missing)
        .put("p50_ms", outcome.latencies().percentileMs(50))
        .put("p99_ms", outcome.latencies().percentileMs(99))
        .put("most_ms", outcome.latencies().percentileMs(100))
        .toString();
  }

  /** Measures events. Returns true if every event arrived or was counted as missing or unseen. */
  private boolean events(MeasuredServer server) throws Exception {
    TextTable table =
        TextTable.ofText(
            "events/s", "sent", "arrived", "missing", "unseen", "p50 ms", "p99 ms", "max ms");
    boolean complete = true;
    try (EventBenchmark benchmark = new EventBenchmark(server)) {
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
                  fraction(phase.latencies().percentileMs(50)),
                  fraction(phase.latencies().percentileMs(99)),
                  fraction(phase.latencies().percentileMs(100))));
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
        .put("p50_ms", phase.latencies().percentileMs(50))
        .put("p99_ms", phase.latencies().percentileMs(99))
        .put("most_ms", phase.latencies().percentileMs(100))
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
