package io.tapline.bench;

import com.fasterxml.jackson.databind.ObjectMapper;
import io.tapline.control.cli.console.CommandException;
import io.tapline.control.cli.console.Console;
import io.tapline.control.cli.console.TextTable;
import io.tapline.control.cli.console.TextTable.Column;
import io.tapline.control.cli.console.TextTable.Kind;
import io.tapline.control.cli.options.Installation;
import io.tapline.control.drill.AlertBenchmark;
import io.tapline.control.drill.DrillBenchmark;
import io.tapline.control.drill.DrillBenchmark.Latencies;
import io.tapline.control.drill.IngestBenchmark;
import io.tapline.control.drill.IngestBenchmark.Round;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.Callable;
import java.util.function.ToDoubleFunction;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

/** {@code tapline bench drill}: snapshots over many nodes. */
@Command(
    name = "drill",
    description = "Latency and CPU of snapshots and queries over MultiLog nodes of this host.")
final class BenchDrillCommand implements Callable<Integer> {
  private static final int MODELLED_HOSTS = 128;
  private static final int PAPER_NODES = 8;
  private static final int INGEST_ROUNDS = 21;
  private static final Duration EVERY = Duration.ofMillis(20);
  private static final Duration ALERTS_FOR = Duration.ofSeconds(20);

  private final Console console;

  @Option(
      names = "--nodes",
      paramLabel = "N",
      split = ",",
      defaultValue = "1,8,32,128",
      description = "Number of nodes (default ${DEFAULT-VALUE}).")
  private List<Integer> nodes;

  @Option(
      names = "--per-process",
      paramLabel = "N",
      defaultValue = "1",
      description = "Nodes per process (default ${DEFAULT-VALUE}, as on separate hosts).")
  private int perProcess;

  @Option(
      names = "--rows",
      paramLabel = "N",
      defaultValue = "1000000",
      description = "Rows in the log of each node (default ${DEFAULT-VALUE}).")
  private int rows;

  @Option(
      names = "--times",
      paramLabel = "N",
      defaultValue = "1000",
      description = "Number of measurements of each kind (default ${DEFAULT-VALUE}).")
  private int times;

  @Option(names = "--json", description = "Print a JSON line per row.")
  private boolean json;

  BenchDrillCommand(Console console) {
    this.console = console;
  }

  @Option(
      names = "--ingest",
      description =
          "Instead, measure the cost of snapshots every 20 ms for a node that continuously ingests packets on a dedicated core.")
  private boolean ingest;

  @Option(
      names = "--alerts",
      description = "Instead, measure the latency of alerts from a node to this program.")
  private boolean alerts;

  @Override
  public Integer call() throws Exception {
    Installation installation = Installation.current();
    Path programs = installation.programs();
    Path program = programs.resolve("tapline-multilog");
    Path capture = installation.home().resolve("testbed/captures/http_small.pcap.zst");
    if (ingest) {
      measureIngest(program, capture);
    } else if (alerts) {
      measureAlerts(program, installation.bundledCapture());
    } else {
      measureLatencies(programs);
    }
    return 0;
  }

  private void measureLatencies(Path programs) throws Exception {
    if (rows < 1000) {
      throw new CommandException("--rows " + rows + ": at least 1000");
    }
    if (perProcess < 1) {
      throw new CommandException("--per-process " + perProcess + ": at least 1");
    }
    List<Latencies> all = new ArrayList<>();
    for (int count : nodes) {
      console.hint("measuring " + count + " nodes");
      try (DrillBenchmark benchmark = new DrillBenchmark(programs, rows, count, perProcess)) {
        List<Latencies> latencies = benchmark.measure(times);
        all.addAll(latencies);
        print(latencies);
      }
    }
    model(all);
  }

  private void print(List<Latencies> rows) throws IOException {
    TextTable table = table(console.columns());
    for (Latencies row : rows) {
      if (json) {
        console.line(new ObjectMapper().writeValueAsString(row));
      }
      table.add(
          List.of(
              row.label(),
              Integer.toString(row.nodes()),
              number(row.p50()),
              number(row.p90()),
              number(row.p99()),
              number(row.max()),
              number(row.nodeCpuMicros()),
              number(row.ownCpuMicros()),
              number(row.frozenMicros())));
    }
    if (!json) {
      console.print(table.render(""));
    }
    console.flush();
  }

  /**
   * Prints modelled latencies for nodes on separate hosts, next to those of the last measurement.
   * The model assumes that nodes work in parallel, that only this program's CPU time grows with
   * their number, spread evenly over its cores, and that the network between hosts is as fast as
   * this host's sockets. Prints only without --json, and only if the first measurement has one node
   * and the last has several.
   */
  private void model(List<Latencies> all) {
    for (String label : List.of("snapshot", "query")) {
      List<Latencies> measured = all.stream().filter(row -> row.label().equals(label)).toList();
      Latencies one = measured.get(0);
      Latencies manyLatencies = measured.get(measured.size() - 1);
      if (json || one.nodes() != 1 || manyLatencies.nodes() < 2) {
        continue;
      }
      double cpuPerNode =
          Math.max(0, manyLatencies.ownCpuMicros() - one.ownCpuMicros())
              / (manyLatencies.nodes() - one.nodes());
      console.line(
          String.format(
              Locale.ROOT,
              "%s: measured with %d nodes on this host %,.0f µs; modelled for %d separate hosts, with a coordinator of"
                  + " 1, 2 and 24 cores: %,.0f, %,.0f and %,.0f µs",
              label,
              manyLatencies.nodes(),
              manyLatencies.p50(),
              MODELLED_HOSTS,
              modelled(one, cpuPerNode, 1),
              modelled(one, cpuPerNode, 2),
              modelled(one, cpuPerNode, 24)));
      console.line(
          String.format(
              Locale.ROOT,
              "  the model assumes: nodes work in parallel, the first takes %,.0f µs, each further one %.1f µs of CPU here,"
                  + " spread evenly over the cores; the network adds nothing",
              one.p50(),
              cpuPerNode));
    }
  }

  private static double modelled(Latencies one, double eachMicros, int cores) {
    return one.p50() + (MODELLED_HOSTS - 1) * eachMicros / cores;
  }

  private void measureIngest(Path program, Path capture) throws Exception {
    int count = nodes.size() == 1 ? nodes.get(0) : PAPER_NODES;
    try (IngestBenchmark benchmark = new IngestBenchmark(program, capture, count)) {
      List<Round> rounds = benchmark.measure(INGEST_ROUNDS, EVERY);
      double byClock = median(rounds, round -> 1 - round.with() / round.without());
      double byCpu = median(rounds, round -> 1 - round.perCpuWith() / round.perCpuWithout());
      console.line(
          String.format(
              Locale.ROOT,
              "%d nodes, a snapshot every %d ms (%.0f a second): %,.0f rows/s without, %,.0f with;"
                  + " %.1f %% fewer by wall-clock time, %.1f %% by the writer's CPU time (medians of %d pairs of rounds)",
              count,
              EVERY.toMillis(),
              median(rounds, Round::snapshots) * 2,
              median(rounds, Round::without),
              median(rounds, Round::with),
              100 * byClock,
              100 * byCpu,
              rounds.size()));
    }
  }

  private static double median(List<Round> rounds, ToDoubleFunction<Round> figure) {
    return rounds.stream().mapToDouble(figure).sorted().toArray()[rounds.size() / 2];
  }

  private void measureAlerts(Path program, Path capture) throws Exception {
    try (AlertBenchmark benchmark = new AlertBenchmark(program, capture)) {
      double[] micros = benchmark.measure(ALERTS_FOR);
      if (micros.length == 0) {
        throw new CommandException("no alert arrived");
      }
      console.line(
          String.format(
              Locale.ROOT,
              "%d alerts, from detection to receipt: p50 %,.0f µs, p90 %,.0f µs, p99 %,.0f µs, max %,.0f µs",
              micros.length,
              micros[micros.length / 2],
              micros[micros.length * 9 / 10],
              micros[micros.length * 99 / 100],
              micros[micros.length - 1]));
    }
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
            new Column("CPU µs here", Kind.NUMBER),
            new Column("frozen µs", Kind.NUMBER)),
        columns);
  }

  private static String number(double value) {
    return String.format(Locale.ROOT, "%,.0f", value);
  }
}
