package io.tapline.control.cli.sim;

import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

/** {@code tapline sim}: the papers' experiments. */
@Command(
    name = "sim",
    description = "Runs the papers' experiments and writes tables, CSV and SVG.",
    synopsisSubcommandLabel = "COMMAND",
    subcommands = {SimPlacementCommand.class, SimPopularityCommand.class})
public final class SimCommand implements Runnable {
  @Spec private CommandSpec spec;

  @Override
  public void run() {
    throw new ParameterException(spec.commandLine(), "missing command");
  }
}
