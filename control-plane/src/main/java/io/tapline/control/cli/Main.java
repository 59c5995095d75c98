package io.tapline.control.cli;

import io.tapline.control.PipelineException;
import io.tapline.control.cli.client.ApiClient;
import io.tapline.control.cli.console.CommandException;
import io.tapline.control.cli.console.Console;
import io.tapline.control.cli.console.LibraryLog;
import io.tapline.control.cli.console.Logging;
import io.tapline.control.cli.console.StopSignals;
import io.tapline.control.cli.console.UsageException;
import io.tapline.control.query.QueryRejected;
import java.lang.reflect.Constructor;
import java.nio.file.Path;
import picocli.CommandLine;
import redis.clients.jedis.exceptions.JedisException;

/** The program {@code tapline}. */
public final class Main {
  private static final int HELP_COLUMNS = 100;

  private Main() {}

  public static void main(String[] args) {
    LibraryLog.install();
    Logging.begin();
    Console console = Console.ofProcess();
    int exitCode = run(console, args);
    StopSignals.leaveTheEndToThem();
    // Ends the process even if a pipeline's threads are still running.
    System.exit(exitCode);
  }

  /** Runs one command line; returns its exit code. */
  public static int run(Console console, String... args) {
    try {
      int exitCode = commandLine(console, args).execute(args);
      console.flush();
      return exitCode;
    } catch (Console.WriteFailed e) {
      return explain(console, e);
    }
  }

  /**
   * Returns the command line with all commands, or only with the one that the arguments name if
   * that is sufficient.
   */
  public static CommandLine commandLine(Console console, String... args) {
    CommandLine commandLine = new CommandLine(new TaplineCommand(), new CommandFactory(console));
    TaplineCommand.commands(args).forEach(commandLine::addSubcommand);
    commandLine.setOut(console.writer());
    commandLine.setErr(console.errorWriter());
    commandLine.setParameterExceptionHandler((e, arguments) -> wrongUsage(console, e));
    commandLine.setExecutionExceptionHandler((e, command, parsed) -> explain(console, e));
    commandLine.setCaseInsensitiveEnumValuesAllowed(true);
    commandLine.setExpandAtFiles(false);
    commandLine.setUsageHelpWidth(HELP_COLUMNS);
    return commandLine;
  }

  private static int wrongUsage(Console console, CommandLine.ParameterException e) {
    console.error(Typing.message(e));
    console.hint("see " + e.getCommandLine().getCommandSpec().qualifiedName() + " --help");
    return CommandLine.ExitCode.USAGE;
  }

  /** Prints a message for the exception that ended a command; returns the exit code. */
  private static int explain(Console console, Exception e) {
    if (StopSignals.areEndingTheProcess() || isShuttingDown()) {
      // After SIGINT or SIGTERM, errors of the interrupted command don't matter.
      return CommandLine.ExitCode.SOFTWARE;
    } else if (e instanceof Console.WriteFailed failed) {
      failed.reason().ifPresent(console::error);
      return CommandLine.ExitCode.SOFTWARE;
    } else if (e instanceof QueryRejected rejected) {
      console.errorText(rejected.rendered());
      return CommandLine.ExitCode.USAGE;
    } else if (e instanceof ApiClient.RejectedByServer) {
      console.errorText(e.getMessage());
      return CommandLine.ExitCode.USAGE;
    } else if (e instanceof UsageException) {
      console.error(e.getMessage());
      return CommandLine.ExitCode.USAGE;
    } else if (e instanceof PipelineException || e instanceof CommandException) {
      console.error(e.getMessage());
    } else if (e instanceof JedisException) {
      console.error("Redis does not answer: " + e.getMessage());
    } else {
      console.error("internal error: " + e);
      console.trace(e);
    }
    return CommandLine.ExitCode.SOFTWARE;
  }

  private static boolean isShuttingDown() {
    Thread none = new Thread();
    try {
      Runtime.getRuntime().addShutdownHook(none);
      Runtime.getRuntime().removeShutdownHook(none);
      return false;
    } catch (IllegalStateException already) {
      return true;
    }
  }

  /** Creates commands, and passes the console to those whose constructor takes one. */
  private record CommandFactory(Console console) implements CommandLine.IFactory {
    @Override
    public <K> K create(Class<K> type) throws Exception {
      if (Path.class.equals(type) || type.isInterface()) {
        return CommandLine.defaultFactory().create(type);
      }
      try {
        Constructor<K> constructor = type.getDeclaredConstructor(Console.class);
        constructor.setAccessible(true);
        return constructor.newInstance(console);
      } catch (NoSuchMethodException withoutConsole) {
        return CommandLine.defaultFactory().create(type);
      }
    }
  }
}
