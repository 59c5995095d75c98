package io.tapline.control.cli.drill;

import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

/** {@code tapline watch}: manages aggregates that hosts maintain, and their alerts. */
@Command(
    name = "watch",
    description =
        "Makes hosts maintain an aggregate over headers and raise an alert when a condition is met.",
    synopsisSubcommandLabel = "COMMAND",
    subcommands = {
      WatchAddCommand.class,
      WatchListCommand.class,
      WatchRemoveCommand.class,
      WatchAlertsCommand.class
    })
public final class WatchCommand implements Runnable {
  static final String PATH = "/api/v1/watches";

  @Spec private CommandSpec spec;

  @Override
  public void run() {
    throw new ParameterException(spec.commandLine(), "missing command");
  }
}
