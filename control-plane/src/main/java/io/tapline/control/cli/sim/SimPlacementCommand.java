package io.tapline.control.cli.sim;

import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.tapline.control.cli.console.CommandException;
import io.tapline.control.cli.console.Console;
import io.tapline.control.cli.console.Names;
import io.tapline.control.cli.console.TextTable;
import io.tapline.control.cli.console.UsageException;
import io.tapline.sim.placement.Measure;
import io.tapline.sim.placement.OptimumExperiment;
import io.tapline.sim.placement.PlacementExperiment;
import io.tapline.sim.placement.Reading;
import io.tapline.sim.placement.Statistic;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

/** {@code tapline sim placement}: Figures 7 and 8 of NetAlytics, and the gap to the optimum. */
@Command(
    name = "placement",
    description =
        "Simulates the cost of placement strategies in traffic and processes (NetAlytics, Figures 7 and 8).")
final class SimPlacementCommand implements Callable<Integer> {
  private static final ObjectMapper MAPPER = new ObjectMapper();

  private final Console console;

  @Option(
      names = "--k",
      paramLabel = "K",
      defaultValue = "16",
      description = "Ports per switch of the fat tree, k (default ${DEFAULT-VALUE}).")
  private int k;

  @Option(
      names = "--runs",
      paramLabel = "N",
      defaultValue = "10",
      description = "Number of runs, each with a different seed (default ${DEFAULT-VALUE}).")
  private int runs;

  @Option(
      names = "--flows",
      paramLabel = "N",
      split = ",",
      defaultValue = "50000,100000,200000,400000,700000,1000000",
      description = "Numbers of monitored flows (default ${DEFAULT-VALUE}).")
  private List<Integer> flows;

  @Option(
      names = "--reading",
      paramLabel = "READING",
      description = "Interpretation of the paper's figures: totals or per-host (default both).")
  private String reading;

  @Option(
      names = "--seed",
      paramLabel = "N",
      defaultValue = "1",
      description = "Random seed (default ${DEFAULT-VALUE}).")
  private long seed;

  @Option(
      names = "--optimum",
      paramLabel = "N",
      description = "Compare with the exact optimum of N small instances instead.")
  private Integer optimum;

  @Option(
      names = "--seconds",
      paramLabel = "N",
      defaultValue = "60",
      description =
          "With --optimum: max time for a proof; afterwards, the lower bound is used (default ${DEFAULT-VALUE}).")
  private int seconds;

  @Option(
      names = "--out",
      paramLabel = "DIR",
      description = "Write CSV and SVG files to this folder.")
  private Path folder;

  @Option(names = "--json", description = "Print rows as JSON lines.")
  private boolean json;

  SimPlacementCommand(Console console) {
    this.console = console;
  }

  @Override
  public Integer call() {
    if (optimum != null) {
      requirePositive("--optimum", optimum);
      requirePositive("--seconds", seconds);
      compare(
          OptimumExperiment.run(
              optimum, seed, seconds, done -> progress(OptimumTable.line(done, optimum))));
    } else {
      figures(PlacementExperiment.run(options(), this::progress));
    }
    return 0;
  }

  private void progress(String message) {
    console.hint(message);
  }

  private static void requirePositive(String option, int value) {
    if (value < 1) {
      throw new UsageException(option + " must be at least 1, not " + value);
    }
  }

  private PlacementExperiment.Options options() {
    requirePositive("--runs", runs);
    if (k < 4 || k > 48 || k % 2 != 0) {
      throw new UsageException("--k must be even and from 4 to 48, not " + k);
    }
    flows.forEach(count -> requirePositive("--flows", count));
    List<Integer> ascending = flows.stream().distinct().sorted().toList();
    return new PlacementExperiment.Options(k, runs, ascending, readings(), seed);
  }

  private List<Reading> readings() {
    List<Reading> all = List.of(Reading.values());
    if (reading == null) {
      return all;
    }
    List<String> labels = all.stream().map(r -> r.label).toList();
    return List.of(
        Names.find(
            reading,
            "reading",
            all.stream().filter(r -> r.label.equals(reading)).findFirst(),
            labels));
  }

  private void figures(List<PlacementExperiment.Row> rows) {
    if (json) {
      rows.forEach(this::jsonRow);
    } else {
      Arrays.stream(Reading.values()).forEach(reading -> table(rows, reading));
    }
    if (folder != null) {
      write("placement.csv", PlacementExperiment.csv(rows));
      rows.stream().map(PlacementExperiment.Row::reading).distinct().forEach(r -> plots(rows, r));
    }
  }

  private void plots(List<PlacementExperiment.Row> rows, Reading reading) {
    write(
        "figure7-" + reading.label + ".svg",
        PlacementExperiment.plot(rows, reading, Measure.BANDWIDTH, Measure.WEIGHTED));
    write(
        "figure8-" + reading.label + ".svg",
        PlacementExperiment.plot(rows, reading, Measure.PROCESSES));
  }

  private void table(List<PlacementExperiment.Row> rows, Reading reading) {
    List<TextTable.Column> columns = new ArrayList<>();
    columns.add(new TextTable.Column("flows", TextTable.Kind.NUMBER));
    columns.add(new TextTable.Column("strategy", TextTable.Kind.NAME));
    for (String header :
        List.of("bandwidth %", "weighted %", "with processors %", "weighted %", "processes")) {
      columns.add(new TextTable.Column(header, TextTable.Kind.NUMBER));
    }
    TextTable table = new TextTable(columns, 0);
    for (PlacementExperiment.Row row : rows) {
      if (row.reading() == reading) {
        List<String> cells = new ArrayList<>();
        cells.add("%,d".formatted(row.flows()));
        cells.add(row.strategy());
        for (Measure measure :
            List.of(
                Measure.BANDWIDTH,
                Measure.WEIGHTED,
                Measure.PROCESSOR_BANDWIDTH,
                Measure.PROCESSOR_WEIGHTED,
                Measure.PROCESSES)) {
          cells.add(text(row.measures().get(measure), measure));
        }
        table.add(cells);
      }
    }
    if (rows.stream().anyMatch(row -> row.reading() == reading)) {
      console.line("reading: " + reading.label);
      console.line(table.render(""));
    }
  }

  private static String text(Statistic value, Measure measure) {
    if (value == null) {
      return "";
    }
    String format = measure == Measure.PROCESSES ? "%.1f ± %.1f" : "%.3f ± %.3f";
    return String.format(Locale.ROOT, format, value.mean(), value.halfWidth());
  }

  private void jsonRow(PlacementExperiment.Row row) {
    ObjectNode node = MAPPER.createObjectNode();
    node.put("reading", row.reading().label);
    node.put("monitored_flows", row.flows());
    node.put("strategy", row.strategy());
    row.measures()
        .forEach(
            (measure, value) -> {
              node.put("runs", value.runs());
              node.put(measure.label, value.mean());
              node.put(measure.label + "_ci95", value.halfWidth());
            });
    console.json(node);
  }

  private void compare(List<OptimumExperiment.Instance> instances) {
    if (json) {
      instances.forEach(this::jsonInstance);
    } else {
      console.line(OptimumTable.of(instances));
    }
    if (folder != null) {
      write("optimum.csv", OptimumTable.csv(instances));
    }
  }

  private void jsonInstance(OptimumExperiment.Instance instance) {
    ObjectNode node = MAPPER.createObjectNode();
    node.put("instance", instance.number());
    node.put("flows", instance.flows());
    node.put("most_processes", instance.budget());
    node.put("bound_weighted_bps", instance.bound());
    node.put("proven", instance.proven());
    instance
        .placements()
        .forEach(
            (strategy, placements) ->
                node.putObject(strategy)
                    .put("processes", placements.processes())
                    .put("weighted_bps", placements.weighted()));
    console.json(node);
  }

  private void write(String name, String text) {
    try {
      Files.createDirectories(folder);
      Files.writeString(folder.resolve(name), text);
    } catch (IOException e) {
      throw new CommandException("can't write " + folder.resolve(name) + ": " + e.getMessage(), e);
    }
  }
}
