package io.tapline.bench;

import io.tapline.control.cli.console.CommandException;
import io.tapline.control.cli.options.Installation;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/**
 * Runs a benchmark that is a native program, and passes through its output, errors and exit code.
 */
abstract class NativeCommand implements Callable<Integer> {
  private final String program;

  @Option(names = "--json", description = "Print results as JSON.")
  private boolean json;

  @Parameters(
      paramLabel = "OPTION",
      description = "More options for the program, after --; -- --help lists them.")
  private List<String> more = List.of();

  NativeCommand(String program) {
    this.program = program;
  }

  /** Returns the command's own options in the program's form. */
  abstract List<String> options();

  @Override
  public Integer call() throws IOException, InterruptedException {
    Path file = Installation.current().programs().resolve(program);
    if (!Files.isExecutable(file)) {
      throw new CommandException(file + " does not exist: run make build");
    }
    List<String> command = new ArrayList<>(List.of(file.toString()));
    command.addAll(options());
    if (json) {
      command.add("--json");
    }
    command.addAll(more);
    // The child is in the same process group, so Ctrl-C reaches it, too.
    return new ProcessBuilder(command).inheritIO().start().waitFor();
  }
}
