package io.tapline.bench;

import io.tapline.bench.micro.CompilerBench;
import io.tapline.control.cli.console.Console;
import io.tapline.control.cli.options.Installation;
import java.util.List;
import picocli.CommandLine.Command;

/** {@code tapline bench compiler}: compiles queries with growing numbers of addresses. */
@Command(
    name = "compiler",
    description = "Time to read and to compile a query, by the number of its addresses (JMH).")
final class BenchCompilerCommand extends JmhCommand {
  BenchCompilerCommand(Console console) {
    super(console, "compiler", List.of(CompilerBench.class));
  }

  @Override
  List<String> machineOptions() {
    return List.of(
        "-Xmx512m",
        "-D%s=%s".formatted(CompilerBench.CATALOGUE, Installation.current().catalogueFile()));
  }
}
