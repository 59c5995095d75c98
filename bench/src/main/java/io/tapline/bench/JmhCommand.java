package io.tapline.bench;

import io.tapline.control.cli.console.CommandException;
import io.tapline.control.cli.console.Console;
import io.tapline.control.cli.console.TextTable;
import io.tapline.control.cli.console.UsageException;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Collections;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.Callable;
import org.openjdk.jmh.profile.GCProfiler;
import org.openjdk.jmh.results.Result;
import org.openjdk.jmh.results.RunResult;
import org.openjdk.jmh.results.format.ResultFormatType;
import org.openjdk.jmh.runner.Runner;
import org.openjdk.jmh.runner.RunnerException;
import org.openjdk.jmh.runner.options.ChainedOptionsBuilder;
import org.openjdk.jmh.runner.options.OptionsBuilder;
import org.openjdk.jmh.runner.options.TimeValue;
import org.openjdk.jmh.runner.options.VerboseMode;
import picocli.CommandLine.Option;

/** Runs JMH benchmarks as a command, each in its own JVM, and prints a table of their times. */
abstract class JmhCommand implements Callable<Integer> {
  private final Console console;
  private final String name;
  private final List<Class<?>> benchmarks;

  @Option(
      names = "--param",
      paramLabel = "NAME=VALUE[,VALUE]",
      description = "Run only these values of a benchmark's parameter.")
  private List<String> parameters = List.of();

  @Option(
      names = "--seconds",
      paramLabel = "N",
      defaultValue = "1",
      description = "Length of an iteration of a repeated benchmark (default ${DEFAULT-VALUE}).")
  private int seconds;

  @Option(names = "--out", paramLabel = "DIR", description = "Write JMH's JSON to this folder.")
  private Path folder;

  @Option(names = "--json", description = "Print results as JSON lines.")
  private boolean json;

  JmhCommand(Console console, String name, List<Class<?>> benchmarks) {
    this.console = console;
    this.name = name;
    this.benchmarks = benchmarks;
  }

  /** Returns the options for the benchmarks' JVMs. */
  abstract List<String> machineOptions();

  /** Returns true if the benchmark also measures allocated bytes. */
  boolean countsAllocation() {
    return false;
  }

  @Override
  public Integer call() throws IOException {
    if (seconds < 1) {
      throw new UsageException("--seconds must be at least 1, not " + seconds);
    }
    ChainedOptionsBuilder options =
        new OptionsBuilder()
            .verbosity(VerboseMode.SILENT)
            .jvmArgs(machineOptions().toArray(String[]::new))
            .warmupTime(TimeValue.seconds(seconds))
            .measurementTime(TimeValue.seconds(seconds));
    benchmarks.forEach(benchmark -> options.include("\\." + benchmark.getSimpleName() + "\\."));
    if (countsAllocation()) {
      options.addProfiler(GCProfiler.class);
    }
    parameters.forEach(parameter -> addParameter(options, parameter));
    if (folder != null) {
      Files.createDirectories(folder);
      options.resultFormat(ResultFormatType.JSON).result(folder.resolve(name + ".json").toString());
    }
    try {
      print(new Runner(options.build()).run());
    } catch (RunnerException e) {
      throw new CommandException("the benchmark failed: " + e.getMessage(), e);
    }
    return 0;
  }

  private static void addParameter(ChainedOptionsBuilder options, String written) {
    String[] parts = written.split("=", 2);
    if (parts.length < 2 || parts[1].isEmpty()) {
      throw new UsageException("--param " + written + ": expected NAME=VALUE");
    }
    options.param(parts[0], parts[1].split(","));
  }

  /** Prints minimum and median; the median is robust against interference by other programs. */
  private void print(Collection<RunResult> results) {
    List<String> heads = new ArrayList<>(List.of("benchmark", "with", "least", "median", "unit"));
    if (countsAllocation()) {
      heads.add("bytes");
    }
    TextTable table = TextTable.ofText(heads.toArray(String[]::new));
    for (RunResult runResult : results) {
      Result<?> result = runResult.getPrimaryResult();
      String min = number(result.getStatistics().getMin());
      String median = number(result.getStatistics().getPercentile(50));
      String bytes = countsAllocation() ? allocated(runResult) : "";
      if (json) {
        String more = bytes.isEmpty() ? "" : ",\"allocated_bytes\":" + bytes;
        console.line(
            "{\"benchmark\":\"%s\",\"with\":\"%s\",\"least\":%s,\"median\":%s,\"unit\":\"%s\"%s}"
                .formatted(
                    label(runResult),
                    parameters(runResult),
                    min,
                    median,
                    result.getScoreUnit(),
                    more));
      } else {
        List<String> row = new ArrayList<>();
        Collections.addAll(
            row, label(runResult), parameters(runResult), min, median, result.getScoreUnit());
        if (countsAllocation()) {
          row.add(bytes);
        }
        table.add(row);
      }
    }
    if (!json) {
      console.line(table.render("").stripTrailing());
    }
  }

  /** Returns the allocated bytes per operation. */
  private static String allocated(RunResult result) {
    return number(result.getSecondaryResults().get("gc.alloc.rate.norm").getScore());
  }

  private static String label(RunResult result) {
    String whole = result.getParams().getBenchmark();
    return whole.substring(whole.lastIndexOf('.', whole.lastIndexOf('.') - 1) + 1);
  }

  private static String parameters(RunResult result) {
    return result.getParams().getParamsKeys().stream()
        .map(key -> key + "=" + result.getParams().getParam(key))
        .reduce((a, b) -> a + " " + b)
        .orElse("");
  }

  private static String number(double value) {
    return String.format(Locale.ROOT, "%.3f", value);
  }
}
