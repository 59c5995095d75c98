package io.tapline.bench;

import io.tapline.bench.micro.DeploymentBench;
import io.tapline.bench.micro.PlacementBench;
import io.tapline.control.cli.console.Console;
import java.util.List;
import picocli.CommandLine.Command;

/**
 * {@code tapline bench placement}: measures the time to place up to ten million flows, and to add a
 * query to running ones or remove it.
 */
@Command(
    name = "placement",
    description =
        "Time to place flows in a fat tree of k=48, and to add a query to running ones (JMH).")
final class BenchPlacementCommand extends JmhCommand {
  BenchPlacementCommand(Console console) {
    super(console, "placement", List.of(PlacementBench.class, DeploymentBench.class));
  }

  @Override
  List<String> machineOptions() {
    return List.of("-Xmx4g", "-XX:+UseParallelGC");
  }
}
