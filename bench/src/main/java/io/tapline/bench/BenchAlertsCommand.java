package io.tapline.bench;

import com.fasterxml.jackson.databind.ObjectMapper;
import io.tapline.control.cli.console.CommandException;
import io.tapline.control.cli.console.Console;
import io.tapline.control.cli.console.TextTable;
import io.tapline.control.cli.console.UsageException;
import io.tapline.control.embedded.EmbeddedServices;
import io.tapline.sim.streams.AlertLatency;
import io.tapline.sim.streams.AlertLatency.Outcome;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

/** {@code tapline bench alerts}: latency from a packet to its alert. */
@Command(
    name = "alerts",
    description =
        "Latency of a network-wide trigger over windows of 10 ms: from the window's end to the message.")
final class BenchAlertsCommand implements Callable<Integer> {
  private static final ObjectMapper MAPPER = new ObjectMapper();

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
      description = "How often a monitor sends (default ${DEFAULT-VALUE}, as tapline-monitor).")
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
      description = "From one burst to the next, on average (default ${DEFAULT-VALUE}).")
  private int burstMs;

  @Option(names = "--json", description = "Print the result as JSON.")
  private boolean json;

  BenchAlertsCommand(Console console) {
    this.console = console;
  }

  @Override
  public Integer call() throws Exception {
    if (seconds < 1 || flushMs < 1 || load < 0 || burstMs < 20) {
      throw new UsageException(
          "--seconds and --flush-ms are at least 1, --load 0 and --burst-ms 20");
    }
    Outcome outcome;
    try (EmbeddedServices services = EmbeddedServices.start()) {
      AlertLatency measured = new AlertLatency(seconds, flushMs, burstMs, load);
      outcome = measured.run(services.endpoints(), services.folder());
    }
    if (outcome.latenciesMs().isEmpty()) {
      throw new CommandException("no alert came of " + outcome.missed() + " bursts");
    }
    print(outcome);
    return outcome.missed() == 0 ? 0 : 1;
  }

  private void print(Outcome outcome) {
    if (json) {
      console.line(
          MAPPER
              .createObjectNode()
              .put("alerts", outcome.latenciesMs().size())
              .put("missed", outcome.missed())
              .put("p50_ms", outcome.percentile(50))
              .put("p90_ms", outcome.percentile(90))
              .put("p99_ms", outcome.percentile(99))
              .put("most_ms", outcome.percentile(100))
              .toString());
      return;
    }
    TextTable table = TextTable.ofText("alerts", "missed", "p50 ms", "p90 ms", "p99 ms", "most ms");
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
