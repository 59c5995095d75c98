package io.tapline.bench;

import io.tapline.bench.micro.OperatorBench;
import io.tapline.control.cli.console.Console;
import java.util.List;
import picocli.CommandLine.Command;

/** {@code tapline bench operators}: measures the steps of the stream job, per tuple. */
@Command(
    name = "operators",
    description =
        "Time and allocation per tuple in the stream job's steps: decode, combine, merge (JMH).")
final class BenchOperatorsCommand extends JmhCommand {
  BenchOperatorsCommand(Console console) {
    super(console, "operators", List.of(OperatorBench.class));
  }

  @Override
  List<String> machineOptions() {
    return List.of("-Xmx2g", "-XX:+UseParallelGC", "-XX:+UseTransparentHugePages");
  }

  @Override
  boolean countsAllocation() {
    return true;
  }
}
