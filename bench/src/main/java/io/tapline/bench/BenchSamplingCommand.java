package io.tapline.bench;

import com.fasterxml.jackson.databind.ObjectMapper;
import io.tapline.control.cli.console.Console;
import io.tapline.control.cli.console.TextTable;
import io.tapline.control.cli.console.UsageException;
import io.tapline.control.embedded.EmbeddedServices;
import io.tapline.control.query.sampling.SamplingWatch;
import io.tapline.sim.placement.Plot;
import io.tapline.sim.streams.HeldConsumer;
import io.tapline.sim.streams.HeldConsumer.Outcome;
import io.tapline.sim.streams.HeldConsumer.Second;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.Callable;
import java.util.function.DoubleConsumer;
import java.util.function.DoubleUnaryOperator;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

/**
 * {@code tapline bench sampling}: measures SAMPLE auto with a consumer limited to a share of the
 * load, and how the sampling rate recovers after the load drops.
 */
@Command(
    name = "sampling",
    description =
        "Rate, lag and bounds of SAMPLE auto while a Kafka quota limits the consumer, and recovery after the load drops.")
final class BenchSamplingCommand implements Callable<Integer> {
  private static final ObjectMapper MAPPER = new ObjectMapper();

  /** Seconds allowed for the rate to settle at the consumer's capacity. */
  private static final int SETTLED = 60;

  /**
   * Minimum rate that counts as keeping all flows: the rate controller skips small changes, so it
   * may never set 1.
   */
  private static final double ALL = 0.98;

  private final Console console;

  @Option(
      names = "--seconds",
      paramLabel = "N",
      defaultValue = "180",
      description =
          "Length of the first phase; the quota applies after 10 seconds (default ${DEFAULT-VALUE}).")
  private int seconds;

  @Option(
      names = "--quiet-seconds",
      paramLabel = "N",
      defaultValue = "60",
      description =
          "Length of a second phase, with half of the load that the consumer may read (default ${DEFAULT-VALUE}; 0: none).")
  private int quietSeconds;

  @Option(
      names = "--load",
      paramLabel = "N",
      defaultValue = "10000",
      description = "Tuples per second (default ${DEFAULT-VALUE}).")
  private int load;

  @Option(
      names = "--share",
      paramLabel = "X",
      defaultValue = "0.2",
      description = "Share of the load that the consumer may read (default ${DEFAULT-VALUE}).")
  private double share;

  @Option(names = "--out", paramLabel = "DIR", description = "Write an SVG file to this folder.")
  private Path folder;

  @Option(names = "--json", description = "Print the result as JSON.")
  private boolean json;

  BenchSamplingCommand(Console console) {
    this.console = console;
  }

  @Override
  public Integer call() throws Exception {
    if (seconds <= SETTLED || quietSeconds < 0 || load < 100 || share <= 0 || share > 1) {
      throw new UsageException(
          "--seconds must be above "
              + SETTLED
              + ", --quiet-seconds at least 0, --load at least 100, --share above 0 and at most 1");
    }
    Outcome outcome;
    try (EmbeddedServices services = EmbeddedServices.start()) {
      outcome =
          new HeldConsumer(seconds, quietSeconds, load, share)
              .run(services.endpoints(), services.folder(), BenchSamplingCommand::watch);
    }
    print(outcome);
    if (folder != null) {
      Files.createDirectories(folder);
      Files.writeString(folder.resolve("sampling.svg"), svg(outcome));
    }
    boolean recovered = quietSeconds == 0 || recoveredAfter(outcome) >= 0;
    return recovered && outcome.windowsWithin() >= 0.95 * outcome.windows() ? 0 : 1;
  }

  private static AutoCloseable watch(HeldConsumer.Gauge gauge, DoubleConsumer limit) {
    SamplingWatch.Gauge seen =
        () -> {
          long[] values = gauge.look();
          return new SamplingWatch.State(values[0], values[1], values[2]);
        };
    DoubleUnaryOperator announce =
        rate -> {
          limit.accept(rate);
          return rate;
        };
    return new SamplingWatch("held", 1, seen, announce).start();
  }

  /**
   * Returns the seconds from the drop in load until all flows are kept; -1 if that was not
   * observed.
   */
  private int recoveredAfter(Outcome outcome) {
    return outcome.course().stream()
        .filter(point -> point.second() > seconds && point.rate() >= ALL)
        .mapToInt(point -> point.second() - seconds)
        .findFirst()
        .orElse(-1);
  }

  private void print(Outcome outcome) {
    List<Second> settledSeconds =
        outcome.course().stream()
            .filter(point -> point.second() > SETTLED && point.second() <= seconds)
            .toList();
    double rate = settledSeconds.stream().mapToDouble(Second::rate).average().orElse(0);
    double lag = settledSeconds.stream().mapToDouble(Second::lagSeconds).average().orElse(0);
    double maxLag = outcome.course().stream().mapToDouble(Second::lagSeconds).max().orElse(0);
    double maxSettledLag = settledSeconds.stream().mapToDouble(Second::lagSeconds).max().orElse(0);
    if (json) {
      console.line(
          MAPPER
              .createObjectNode()
              .put("mean_rate", rate)
              .put("mean_lag_s", lag)
              .put("most_lag_settled_s", maxSettledLag)
              .put("most_lag_s", maxLag)
              .put("windows", outcome.windows())
              .put("windows_within", outcome.windowsWithin())
              .put("rows", outcome.rows())
              .put("rows_within", outcome.rowsWithin())
              .put("recovered_after_s", recoveredAfter(outcome))
              .toString());
      return;
    }
    TextTable table =
        TextTable.ofText(
            "mean rate",
            "mean lag s",
            "max lag s settled",
            "max lag s overall",
            "windows",
            "rows",
            "back after s");
    table.add(
        List.of(
            format("%.3f", rate),
            format("%.1f", lag),
            format("%.1f", maxSettledLag),
            format("%.1f", maxLag),
            format("%d of %d", outcome.windowsWithin(), outcome.windows()),
            format("%d of %d", outcome.rowsWithin(), outcome.rows()),
            Integer.toString(recoveredAfter(outcome))));
    console.line(table.render(""));
  }

  private static String svg(Outcome outcome) {
    List<Plot.Point> rates =
        outcome.course().stream()
            .map(point -> new Plot.Point(point.second(), 100 * point.rate(), 0))
            .toList();
    List<Plot.Point> lags =
        outcome.course().stream()
            .map(point -> new Plot.Point(point.second(), point.lagSeconds(), 0))
            .toList();
    double max = outcome.course().stream().mapToDouble(Second::load).max().orElse(1);
    List<Plot.Point> loads =
        outcome.course().stream()
            .map(point -> new Plot.Point(point.second(), 100 * point.load() / max, 0))
            .toList();
    return new Plot("SAMPLE auto, a consumer limited to a share of the load", "seconds", "% and s")
        .line("load, % of the maximum", loads, true)
        .line("flows kept, %", rates, false)
        .line("lag of the job, s", lags, true)
        .svg();
  }

  private static String format(String format, Object... values) {
    return String.format(Locale.ROOT, format, values);
  }
}
