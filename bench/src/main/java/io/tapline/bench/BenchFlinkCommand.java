package io.tapline.bench;

import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.tapline.control.cli.console.CommandException;
import io.tapline.control.cli.console.Console;
import io.tapline.control.cli.console.Names;
import io.tapline.control.cli.console.TextTable;
import io.tapline.control.embedded.EmbeddedServices;
import io.tapline.sim.placement.Plot;
import io.tapline.sim.streams.Cost;
import io.tapline.sim.streams.PacedComparison.PacedResult;
import io.tapline.sim.streams.PacedComparison.Result;
import io.tapline.sim.streams.StreamBenchmark;
import io.tapline.sim.streams.StreamBenchmark.Comparison;
import io.tapline.sim.streams.StreamBenchmark.KeyCost;
import io.tapline.sim.streams.StreamBenchmark.Sizes;
import io.tapline.sim.streams.Traffic;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

/** {@code tapline bench flink}: the stream job compared with a textbook job and a competent one. */
@Command(
    name = "flink",
    description =
        "Tuples per second and CPU per tuple of the stream job, compared with a textbook job and a competent one.")
final class BenchFlinkCommand implements Callable<Integer> {
  private static final ObjectMapper MAPPER = new ObjectMapper();
  private static final int PARTITIONS = 2;

  private final Console console;
  private final List<ObjectNode> rows = new ArrayList<>();

  @Option(
      names = "--part",
      paramLabel = "PART",
      split = ",",
      defaultValue = "textbook,paced,scaling,keys,steady",
      description =
          "textbook: compare with a textbook job and a competent one; paced: the same comparison at --rates; alone: only the stream job; scaling: by tuples and parallelism; keys: by number of keys; steady: over time (default ${DEFAULT-VALUE}).")
  private List<String> parts;

  @Option(
      names = "--query",
      paramLabel = "KIND",
      split = ",",
      defaultValue = "top-k,diff-group,join",
      description = "Queries (default ${DEFAULT-VALUE}).")
  private List<String> kinds;

  @Option(
      names = "--keys",
      paramLabel = "N",
      defaultValue = "100000",
      description =
          "Number of keys, whose popularity follows Zipf's law (default ${DEFAULT-VALUE}).")
  private int keys;

  @Option(
      names = "--key-counts",
      paramLabel = "N",
      split = ",",
      defaultValue = "10000,100000,1000000,10000000",
      description =
          "Numbers of keys for --part keys; every window contains each key (default ${DEFAULT-VALUE}).")
  private List<Integer> keyCounts;

  @Option(
      names = "--density",
      paramLabel = "N",
      defaultValue = "500000",
      description = "Tuples in a second of packet time (default ${DEFAULT-VALUE}).")
  private int density;

  @Option(
      names = "--textbook-tuples",
      paramLabel = "N",
      defaultValue = "6000000",
      description =
          "Tuples that the textbook job and the competent one read (default ${DEFAULT-VALUE}).")
  private long textbookTuples;

  @Option(
      names = "--tuples",
      paramLabel = "N",
      defaultValue = "60000000",
      description = "Tuples that the stream job reads (default ${DEFAULT-VALUE}).")
  private long tuples;

  @Option(
      names = "--rates",
      paramLabel = "N",
      split = ",",
      defaultValue = "50000,500000",
      description = "Tuples per second in the paced part (default ${DEFAULT-VALUE}).")
  private List<Integer> rates;

  @Option(
      names = "--paced-seconds",
      paramLabel = "N",
      defaultValue = "20",
      description = "Length of each measurement in the paced part (default ${DEFAULT-VALUE}).")
  private int pacedSeconds;

  @Option(
      names = "--seconds",
      paramLabel = "N",
      defaultValue = "300",
      description = "Length of the steady part (default ${DEFAULT-VALUE}).")
  private int seconds;

  @Option(
      names = "--out",
      paramLabel = "DIR",
      description = "Write JSON and SVG files to this folder.")
  private Path folder;

  @Option(names = "--json", description = "Print rows as JSON lines.")
  private boolean json;

  BenchFlinkCommand(Console console) {
    this.console = console;
  }

  @Override
  public Integer call() throws Exception {
    List<Traffic.Kind> wantedKinds = kinds.stream().map(BenchFlinkCommand::kind).toList();
    List<String> known = List.of("textbook", "paced", "alone", "scaling", "keys", "steady");
    for (String part : parts) {
      Names.find(part, "part", known.stream().filter(part::equals).findFirst(), known);
    }
    try (EmbeddedServices services = EmbeddedServices.start();
        StreamBenchmark benchmark =
            StreamBenchmark.start(
                services.endpoints(), services.folder(), PARTITIONS, console::hint)) {
      for (String part : parts) {
        run(part, benchmark, wantedKinds);
      }
    }
    if (folder != null) {
      write("flink.json", MAPPER.writerWithDefaultPrettyPrinter().writeValueAsString(rows) + "\n");
    }
    return 0;
  }

  private void run(String part, StreamBenchmark benchmark, List<Traffic.Kind> wantedKinds)
      throws Exception {
    switch (part) {
      case "textbook" -> textbook(benchmark, wantedKinds);
      case "paced" -> paced(benchmark, wantedKinds);
      case "alone" -> alone(benchmark, wantedKinds);
      case "scaling" -> scaling(benchmark);
      case "keys" -> keys(benchmark);
      default -> steady(benchmark);
    }
  }

  private static Traffic.Kind kind(String name) {
    List<Traffic.Kind> all = List.of(Traffic.Kind.values());
    return Names.find(
        name,
        "query",
        all.stream().filter(kind -> kind.label().equals(name)).findFirst(),
        all.stream().map(Traffic.Kind::label).toList());
  }

  private Sizes sizes(int ownKeys, long ownTuples) {
    return new Sizes(ownKeys, density, textbookTuples, ownTuples);
  }

  private void textbook(StreamBenchmark benchmark, List<Traffic.Kind> wantedKinds)
      throws Exception {
    TextTable table =
        TextTable.ofText(
            "query", "job", "tuples/s", "CPU us", "stream job, times as fast", "by CPU time");
    for (Traffic.Kind kind : wantedKinds) {
      Comparison row = benchmark.compare(kind, sizes(keys, tuples), PARTITIONS);
      addComparison(table, row, "textbook", row.textbook());
      addComparison(table, row, "competent", row.competent());
      addComparison(table, row, "stream", row.ours());
    }
    show(table);
  }

  private void addComparison(TextTable table, Comparison row, String job, Cost cost) {
    table.add(
        List.of(
            row.name(),
            job,
            format("%,.0f", cost.tuplesPerSecond()),
            format("%.3f", cost.cpuMicroseconds()),
            format("%.1f", row.times(cost)),
            format("%.1f", row.cpuTimes(cost))));
    row("textbook", row.name(), cost)
        .put("job", job)
        .put("times", row.times(cost))
        .put("cpu_times", row.cpuTimes(cost));
  }

  private void paced(StreamBenchmark benchmark, List<Traffic.Kind> wantedKinds) throws Exception {
    TextTable table =
        TextTable.ofText("query", "offered/s", "sent/s", "job", "CPU us", "equal windows");
    for (Traffic.Kind kind : wantedKinds) {
      for (int rate : rates) {
        Sizes sizes = new Sizes(keys, rate, textbookTuples, tuples);
        Result result = benchmark.comparePaced(kind, sizes, pacedSeconds, PARTITIONS);
        result.jobs().forEach(job -> pacedRow(table, result, job));
      }
    }
    show(table);
  }

  private void pacedRow(TextTable table, Result result, PacedResult job) {
    table.add(
        List.of(
            result.name(),
            format("%,d", result.tuplesPerSecond()),
            format("%,.0f", job.cost().tuplesPerSecond()),
            job.job(),
            job.keptPace() ? format("%.3f", job.cost().cpuMicroseconds()) : "- (fell behind)",
            format("%d", result.equalWindows())));
    row("paced", result.name(), job.cost())
        .put("job", job.job())
        .put("offered_per_second", result.tuplesPerSecond())
        .put("kept_pace", job.keptPace())
        .put("equal_windows", result.equalWindows());
  }

  private void alone(StreamBenchmark benchmark, List<Traffic.Kind> wantedKinds) throws Exception {
    TextTable table = TextTable.ofText("query", "tuples/s", "CPU us");
    for (Traffic.Kind kind : wantedKinds) {
      Cost cost = benchmark.measure(kind, sizes(keys, tuples), PARTITIONS);
      add(table, "alone", kind.label(), cost);
    }
    show(table);
  }

  private ObjectNode add(TextTable table, String part, String name, Cost cost) {
    table.add(
        List.of(
            name, format("%,.0f", cost.tuplesPerSecond()), format("%.3f", cost.cpuMicroseconds())));
    return row(part, name, cost);
  }

  private void scaling(StreamBenchmark benchmark) throws Exception {
    TextTable table = TextTable.ofText("top-k", "tuples/s", "CPU us");
    for (int times : new int[] {1, 2, 4}) {
      long share = tuples * times / 4;
      Cost cost = benchmark.measure(Traffic.Kind.TOP_K, sizes(keys, share), PARTITIONS);
      add(table, "scaling", format("%,d tuples", share), cost);
    }
    for (int parallelism = 1; parallelism <= PARTITIONS; parallelism++) {
      Cost cost = benchmark.measure(Traffic.Kind.TOP_K, sizes(keys, tuples / 2), parallelism);
      add(table, "scaling", "parallelism " + parallelism, cost);
    }
    show(table);
  }

  private void keys(StreamBenchmark benchmark) throws Exception {
    TextTable table =
        TextTable.ofText("keys", "tuples/s", "CPU us", "memory MiB", "checkpoint MiB");
    List<Plot.Point> points = new ArrayList<>();
    for (int count : keyCounts) {
      KeyCost row =
          benchmark.measureKeys(sizes(count, Math.max(tuples / 2, 4L * count)), PARTITIONS);
      table.add(
          List.of(
              format("%,d", count),
              format("%,.0f", row.cost().tuplesPerSecond()),
              format("%.3f", row.cost().cpuMicroseconds()),
              format("%,d", row.heldBytes() >> 20),
              format("%,d", row.checkpointBytes() >> 20)));
      row("keys", format("%d", count), row.cost())
          .put("held_bytes", row.heldBytes())
          .put("checkpoint_bytes", row.checkpointBytes());
      points.add(new Plot.Point(Math.log10(count), row.cost().tuplesPerSecond() / 1e6, 0));
    }
    show(table);
    plot(
        "flink-keys.svg",
        "top-k by number of keys, each in every window",
        "keys, power of ten",
        points);
  }

  private void steady(StreamBenchmark benchmark) throws Exception {
    List<Plot.Point> points = new ArrayList<>();
    TextTable table = TextTable.ofText("seconds", "tuples/s", "CPU us, with the producer");
    double end = 0;
    for (Cost cost :
        benchmark.steady(Traffic.Kind.TOP_K, sizes(keys, tuples), seconds, PARTITIONS)) {
      end += cost.seconds();
      add(table, "steady", format("%.0f", end), cost);
      points.add(new Plot.Point(end, cost.tuplesPerSecond() / 1e6, 0));
    }
    show(table);
    plot("flink-steady.svg", "top-k, every ten seconds", "seconds", points);
  }

  private void show(TextTable table) {
    if (!json) {
      console.line(table.render(""));
    }
  }

  private ObjectNode row(String part, String name, Cost cost) {
    ObjectNode row =
        MAPPER
            .createObjectNode()
            .put("part", part)
            .put("name", name)
            .put("job", "stream")
            .put("tuples", cost.tuples())
            .put("seconds", cost.seconds())
            .put("cpu_seconds", cost.cpuSeconds())
            .put("tuples_per_second", cost.tuplesPerSecond())
            .put("cpu_us_per_tuple", cost.cpuMicroseconds());
    rows.add(row);
    if (json) {
      console.json(row);
    }
    return row;
  }

  private void plot(String name, String title, String x, List<Plot.Point> points) {
    if (folder != null) {
      write(name, new Plot(title, x, "million tuples/s").line("stream job", points, false).svg());
    }
  }

  private void write(String name, String text) {
    try {
      Files.createDirectories(folder);
      Files.writeString(folder.resolve(name), text);
    } catch (IOException e) {
      throw new CommandException("can't write " + folder.resolve(name) + ": " + e.getMessage(), e);
    }
  }

  private static String format(String format, Object... values) {
    return String.format(Locale.ROOT, format, values);
  }
}
