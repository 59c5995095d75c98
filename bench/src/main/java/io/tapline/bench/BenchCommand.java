package io.tapline.bench;

import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

/** {@code tapline bench}: benchmarks, with baselines in the same run. */
@Command(
    name = "bench",
    description =
        "Runs benchmarks and compares them with baselines in the same run: tables, JSON and SVG.",
    synopsisSubcommandLabel = "COMMAND",
    subcommands = {
      BenchMonitorCommand.class,
      BenchMultiLogCommand.class,
      BenchTriggersCommand.class,
      BenchAlertsCommand.class,
      BenchCompilerCommand.class,
      BenchControllerCommand.class,
      BenchPlacementCommand.class,
      BenchSamplingCommand.class,
      BenchDrillCommand.class,
      BenchDiagnoseCommand.class,
      BenchEndToEndCommand.class,
      BenchFlinkCommand.class,
      BenchOperatorsCommand.class
    })
public final class BenchCommand implements Runnable {
  @Spec private CommandSpec spec;

  @Override
  public void run() {
    throw new ParameterException(spec.commandLine(), "missing command");
  }
}
