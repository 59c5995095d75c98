package io.tapline.bench;

import io.tapline.control.cli.console.Console;
import io.tapline.control.cli.console.UsageException;
import io.tapline.control.cli.options.Installation;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

/** {@code tapline bench end-to-end}: runs bench/end_to_end.py, which starts all the processes. */
@Command(
    name = "end-to-end",
    description =
        "Live input rate that the pipeline sustains, by number of units (a monitor, a broker and two Flink workers each).")
final class BenchEndToEndCommand implements Callable<Integer> {
  @Option(
      names = "--units",
      paramLabel = "N",
      split = ",",
      defaultValue = "1,2,3,4",
      description =
          "Numbers of units: a monitor, a broker and two workers each (default ${DEFAULT-VALUE}).")
  private List<Integer> units;

  @Option(
      names = "--seconds",
      paramLabel = "N",
      defaultValue = "30",
      description = "Length of the capture (default ${DEFAULT-VALUE}).")
  private int seconds;

  @Option(
      names = "--ram",
      paramLabel = "DIR",
      defaultValue = "/dev/shm",
      description = "RAM disk for the brokers' logs (default ${DEFAULT-VALUE}).")
  private Path ram;

  @Option(
      names = "--out",
      paramLabel = "DIR",
      description = "Write JSON and SVG files to this folder.")
  private Path folder;

  @Option(names = "--json", description = "Print rows as JSON lines.")
  private boolean json;

  BenchEndToEndCommand(Console console) {}

  @Override
  public Integer call() throws IOException, InterruptedException {
    if (seconds < 1 || units.stream().anyMatch(unit -> unit < 1)) {
      throw new UsageException("--seconds and --units must be at least 1");
    }
    Installation installation = Installation.current();
    Path script = installation.home().resolve("bench/end_to_end.py");
    List<String> command = new ArrayList<>(List.of("python3", script.toString()));
    command.addAll(List.of("--units", String.join(",", units.stream().map(n -> "" + n).toList())));
    command.addAll(List.of("--seconds", "" + seconds, "--ram", ram.toString()));
    if (folder != null) {
      command.addAll(List.of("--out", folder.toString()));
    }
    if (json) {
      command.add("--json");
    }
    ProcessBuilder builder = new ProcessBuilder(command).inheritIO();
    builder.environment().put("TAPLINE_MONITOR", installation.requireMonitor().toString());
    Process process = builder.start();
    Thread end = new Thread(process::destroy, "end-to-end-shutdown");
    Runtime.getRuntime().addShutdownHook(end);
    return process.waitFor() == 0 ? 0 : 1;
  }
}
