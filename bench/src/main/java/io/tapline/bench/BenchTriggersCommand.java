package io.tapline.bench;

import java.util.ArrayList;
import java.util.List;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

/** {@code tapline bench triggers}: compares the cost of triggers per packet with baselines. */
@Command(
    name = "triggers",
    description =
        "Compares the cost of triggers per packet with only reading the packets, with Trumpet's design and others.")
final class BenchTriggersCommand extends NativeCommand {
  @Option(
      names = "--part",
      paramLabel = "PART",
      description =
          "Run only this part: rate, triggers, patterns, groups, coverage, attack, feasible, values, overload, swap, bursts, sizes, fetches, optimisations or sweep.")
  private String part;

  @Option(names = "--quick", description = "Run fewer rounds.")
  private boolean quick;

  BenchTriggersCommand() {
    super("bench_triggers");
  }

  @Override
  List<String> options() {
    List<String> options = new ArrayList<>();
    if (part != null) {
      options.addAll(List.of("--part", part));
    }
    if (quick) {
      options.add("--quick");
    }
    return options;
  }
}
