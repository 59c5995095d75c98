package io.tapline.bench;

import java.util.List;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

/** {@code tapline bench multilog}: measures appends to a MultiLog, or queries of one. */
@Command(
    name = "multilog",
    description = "Measures appends to a MultiLog, or queries of one, as JSON lines.")
final class BenchMultiLogCommand extends NativeCommand {
  @Option(names = "--queries", description = "Measure queries instead of appends.")
  private boolean queries;

  BenchMultiLogCommand() {
    super("bench_multilog");
  }

  @Override
  List<String> options() {
    return queries ? List.of("--queries") : List.of();
  }
}
