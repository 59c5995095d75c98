package io.tapline.control.cli;

import io.tapline.control.cli.console.Logging;
import io.tapline.control.cli.diagnose.DiagnoseCommand;
import io.tapline.control.cli.drill.DrillCommand;
import io.tapline.control.cli.drill.NodesCommand;
import io.tapline.control.cli.drill.SamplesCommand;
import io.tapline.control.cli.drill.WatchCommand;
import io.tapline.control.cli.language.ExplainCommand;
import io.tapline.control.cli.language.FmtCommand;
import io.tapline.control.cli.language.ParsersCommand;
import io.tapline.control.cli.language.ProcessorsCommand;
import io.tapline.control.cli.query.LinksCommand;
import io.tapline.control.cli.query.QueryCommand;
import io.tapline.control.cli.query.ReplicateCommand;
import io.tapline.control.cli.reference.CompletionCommand;
import io.tapline.control.cli.reference.ManualCommand;
import io.tapline.control.cli.reference.ReferenceCommand;
import io.tapline.control.cli.run.DemoCommand;
import io.tapline.control.cli.run.ParseCommand;
import io.tapline.control.cli.run.RunCommand;
import io.tapline.control.cli.server.ControllerCommand;
import io.tapline.control.cli.server.ServerCommand;
import io.tapline.control.cli.server.TokenCommand;
import io.tapline.control.cli.sim.SimCommand;
import io.tapline.control.cli.testbed.TestbedCommand;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.ServiceLoader;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

/** The root command, {@code tapline}, with the options that all commands share. */
@Command(
    name = "tapline",
    versionProvider = Version.class,
    description = "Turns a sentence into a measurement of a running network.",
    synopsisSubcommandLabel = "COMMAND",
    footer = {"", "Exit codes: 0 success, 1 failure, 2 usage error.", "Start with: tapline demo"})
final class TaplineCommand implements Runnable {
  private static final List<Class<?>> COMMANDS =
      List.of(
          DemoCommand.class,
          RunCommand.class,
          ParseCommand.class,
          ParsersCommand.class,
          ProcessorsCommand.class,
          ExplainCommand.class,
          FmtCommand.class,
          QueryCommand.class,
          DrillCommand.class,
          WatchCommand.class,
          DiagnoseCommand.class,
          ReplicateCommand.class,
          NodesCommand.class,
          LinksCommand.class,
          SamplesCommand.class,
          ServerCommand.class,
          TokenCommand.class,
          ControllerCommand.class,
          TestbedCommand.class,
          SimCommand.class);

  /** Commands that document the other commands or complete their names. */
  private static final List<Class<?>> META =
      List.of(CompletionCommand.class, ReferenceCommand.class, ManualCommand.class);

  /** Commands that need no others, by name: creating all commands would delay their start. */
  private static final Map<String, Class<?>> ALONE =
      Map.of("run", RunCommand.class, "demo", DemoCommand.class);

  @Spec private CommandSpec spec;

  /** Returns the commands that a command line may need. */
  static List<Class<?>> commands(String... args) {
    Class<?> alone = args.length == 0 ? null : ALONE.get(args[0]);
    return alone == null ? all() : List.of(alone);
  }

  private static List<Class<?>> all() {
    List<Class<?>> all = new ArrayList<>(COMMANDS);
    ServiceLoader.load(MoreCommands.class).forEach(more -> all.addAll(more.commands()));
    all.addAll(META);
    return all;
  }

  @Option(
      names = {"-h", "--help"},
      usageHelp = true,
      scope = CommandLine.ScopeType.INHERIT,
      description = "Show this help.")
  private boolean help;

  @Option(names = "--version", versionHelp = true, description = "Show the version.")
  private boolean version;

  /**
   * Raises the log level: {@code -v} logs Tapline's events, {@code -vv} also those of Kafka, Flink
   * and Jetty.
   */
  @Option(
      names = {"-v", "--verbose"},
      scope = CommandLine.ScopeType.INHERIT,
      description = "Log what Tapline does; -vv: also what Kafka and Flink do.")
  void setVerbose(boolean[] times) {
    if (times != null && times.length > 0) {
      Logging.verbose(times.length);
    }
  }

  @Override
  public void run() {
    throw new ParameterException(spec.commandLine(), "missing command");
  }
}
