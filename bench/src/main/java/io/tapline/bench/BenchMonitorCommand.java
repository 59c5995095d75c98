package io.tapline.bench;

import java.util.ArrayList;
import java.util.List;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

/** {@code tapline bench monitor}: compares the monitor's cost per packet with baselines. */
@Command(
    name = "monitor",
    description =
        "Compares the monitor's cost per packet with its receive loop alone and with dpdk-testpmd.")
final class BenchMonitorCommand extends NativeCommand {
  @Option(
      names = "--part",
      paramLabel = "PART",
      description = "Run only this part: figure5, modes, matched, flows or time.")
  private String part;

  @Option(names = "--quick", description = "Take fewer and shorter samples.")
  private boolean quick;

  BenchMonitorCommand() {
    super("bench_monitor");
  }

  @Override
  List<String> options() {
    List<String> options = new ArrayList<>();
    if (part != null) {
      options.addAll(List.of("--only", part));
    }
    if (quick) {
      options.add("--quick");
    }
    return options;
  }
}
