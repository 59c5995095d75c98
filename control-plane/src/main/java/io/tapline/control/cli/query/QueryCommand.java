package io.tapline.control.cli.query;

import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

/** {@code tapline query}: manages a running server's queries. */
@Command(
    name = "query",
    description = "Submits queries to a server, follows and stops them.",
    synopsisSubcommandLabel = "COMMAND",
    subcommands = {
      QuerySubmitCommand.class,
      QueryListCommand.class,
      QueryShowCommand.class,
      QueryResultsCommand.class,
      QueryWatchCommand.class,
      QueryStopCommand.class,
      QueryShopFiguresCommand.class
    })
public final class QueryCommand implements Runnable {
  @Spec private CommandSpec spec;

  @Override
  public void run() {
    throw new ParameterException(spec.commandLine(), "missing command");
  }
}
