package io.tapline.control.cli;

import com.fasterxml.jackson.databind.ObjectMapper;
import io.tapline.control.cli.TextTable.Column;
import io.tapline.control.cli.TextTable.Kind;
import io.tapline.control.drill.DrillBenchmark;
import io.tapline.control.drill.DrillBenchmark.Latencies;
import java.nio.file.Path;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

/** {@code tapline bench drill}: snapshots over many nodes. */
@Command(
    name = "drill",
    description =
        "Latency and CPU of snapshots and queries over MultiLog nodes, processes of this host.")
final class BenchDrillCommand implements Callable<Integer> {
  /** A flow of the bundled capture. */
  private static final String FLOW = "flow == 0xa383c50f9de647dd";

  private final Console console;

  @Option(
      names = "--nodes",
      paramLabel = "N",
      split = ",",
      defaultValue = "1,8,32,128",
      description = "How many nodes (default ${DEFAULT-VALUE}).")
  private List<Integer> nodes;

  @Option(
      names = "--times",
      paramLabel = "N",
      defaultValue = "1000",
      description = "How many of each are measured (default ${DEFAULT-VALUE}).")
  private int times;

  @Option(names = "--json", description = "Print a JSON line per row.")
  private boolean json;

  BenchDrillCommand(Console console) {
    this.console = console;
  }

  @Override
  public Integer call() throws Exception {
    Path home = Path.of(System.getProperty("tapline.home"));
    for (int count : nodes) {
      console.hint("measuring " + count + " nodes");
      TextTable table = table(console.columns());
      try (DrillBenchmark benchmark =
          new DrillBenchmark(
              home.resolve("build/bin/tapline-multilog"),
              home.resolve("testbed/captures/http_small.pcap.zst"),
              count)) {
        for (Latencies row : benchmark.measure(times, FLOW)) {
          if (json) {
            console.line(new ObjectMapper().writeValueAsString(row));
          }
          table.add(
              List.of(
                  row.what(),
                  Integer.toString(row.nodes()),
                  number(row.p50()),
                  number(row.p90()),
                  number(row.p99()),
                  number(row.most()),
                  number(row.nodeCpuMicros()),
                  number(row.ownCpuMicros())));
        }
      }
      if (!json) {
        console.print(table.render(""));
      }
      console.flush();
    }
    return 0;
  }

  private static TextTable table(int columns) {
    return new TextTable(
        List.of(
            new Column("what", Kind.NAME),
            new Column("nodes", Kind.NUMBER),
            new Column("p50 µs", Kind.NUMBER),
            new Column("p90 µs", Kind.NUMBER),
            new Column("p99 µs", Kind.NUMBER),
            new Column("most µs", Kind.NUMBER),
            new Column("CPU µs per node", Kind.NUMBER),
            new Column("CPU µs here", Kind.NUMBER)),
        columns);
  }

  private static String number(double value) {
    return String.format(Locale.ROOT, "%,.0f", value);
  }
}
