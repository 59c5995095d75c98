package io.tapline.bench;

import io.tapline.control.cli.console.Console;
import io.tapline.control.cli.console.TextTable;
import io.tapline.control.cli.console.TextTable.Column;
import io.tapline.control.cli.console.TextTable.Kind;
import io.tapline.control.cli.console.UsageException;
import io.tapline.control.cli.options.Installation;
import io.tapline.control.diagnose.DiagnoseBenchmark;
import io.tapline.control.diagnose.DiagnoseBenchmark.Latency;
import io.tapline.sim.placement.Plot;
import io.tapline.sim.placement.Plot.Point;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.Callable;
import java.util.function.ToDoubleFunction;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

/** {@code tapline bench diagnose}: repeats the experiment of Confluo's Figure 9(b). */
@Command(
    name = "diagnose",
    description =
        "Latency of finding the flows that compete for a link, by their number (Confluo, Figure 9b).",
    footer = {
      "",
      "Create the captures with build/bin/tapline-packets competing DIR (sim/packets/README.md)."
    })
final class BenchDiagnoseCommand implements Callable<Integer> {
  private final Console console;

  @Option(
      names = "--traces",
      paramLabel = "DIR",
      required = true,
      description = "Folder with the output of 'tapline-packets competing'.")
  private Path traces;

  @Option(
      names = "--flows",
      paramLabel = "N",
      split = ",",
      defaultValue = "1,2,4,8,16,32,64,99",
      description = "Number of flows, each to a different host (default ${DEFAULT-VALUE}).")
  private List<Integer> flows;

  @Option(
      names = "--times",
      paramLabel = "N",
      defaultValue = "25",
      description = "Number of measurements for each number of flows (default ${DEFAULT-VALUE}).")
  private int times;

  @Option(
      names = "--out",
      paramLabel = "DIR",
      description = "Write CSV and SVG files to this folder.")
  private Path folder;

  BenchDiagnoseCommand(Console console) {
    this.console = console;
  }

  @Override
  public Integer call() throws Exception {
    if (!Files.isDirectory(traces) || times < 1) {
      throw new UsageException("--traces needs a folder, and --times must be at least 1");
    }
    Path program = Installation.current().programs().resolve("tapline-multilog");
    List<Latency> rows = new ArrayList<>();
    try (DiagnoseBenchmark benchmark =
        new DiagnoseBenchmark(program, traces, Collections.max(flows))) {
      // Warm-up for the JIT compiler; not counted.
      benchmark.measure(Math.min(4, benchmark.hosts()), times);
      for (int count : flows) {
        if (count < 1 || count > benchmark.hosts()) {
          throw new UsageException("--flows must be 1 to " + benchmark.hosts() + ", not " + count);
        }
        rows.add(benchmark.measure(count, times));
      }
    }
    console.print(table(rows));
    if (folder != null) {
      Files.createDirectories(folder);
      Files.writeString(folder.resolve("figure9b.csv"), csv(rows));
      Files.writeString(folder.resolve("figure9b.svg"), plot(rows));
    }
    return 0;
  }

  private String table(List<Latency> rows) {
    TextTable table =
        new TextTable(
            List.of(
                new Column("flows", Kind.NUMBER),
                new Column("connect ms", Kind.NUMBER),
                new Column("snapshot ms", Kind.NUMBER),
                new Column("query ms", Kind.NUMBER)),
            console.columns());
    for (Latency row : rows) {
      table.add(
          List.of(
              Integer.toString(row.flows()),
              ms(row.connectMs()),
              ms(row.snapshotMs()),
              ms(row.queryMs())));
    }
    return table.render("");
  }

  private static String csv(List<Latency> rows) {
    StringBuilder csv = new StringBuilder("flows,connect_ms,snapshot_ms,query_ms\n");
    for (Latency row : rows) {
      csv.append(
          "%d,%s,%s,%s\n"
              .formatted(
                  row.flows(), ms(row.connectMs()), ms(row.snapshotMs()), ms(row.queryMs())));
    }
    return csv.toString();
  }

  private static String plot(List<Latency> rows) {
    return new Plot("Latency of a diagnosis (Figure 9b)", "flows", "ms")
        .line(
            "connecting, snapshot, query",
            points(rows, row -> row.connectMs() + row.snapshotMs() + row.queryMs()),
            false)
        .line("connecting", points(rows, Latency::connectMs), true)
        .line("query", points(rows, Latency::queryMs), false)
        .line("snapshot", points(rows, Latency::snapshotMs), false)
        .svg();
  }

  private static List<Point> points(List<Latency> rows, ToDoubleFunction<Latency> part) {
    return rows.stream().map(row -> new Point(row.flows(), part.applyAsDouble(row), 0)).toList();
  }

  private static String ms(double value) {
    return String.format(Locale.ROOT, "%.3f", value);
  }
}
