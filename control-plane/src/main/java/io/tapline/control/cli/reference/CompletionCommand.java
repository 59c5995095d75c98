package io.tapline.control.cli.reference;

import io.tapline.control.cli.console.Console;
import java.util.concurrent.Callable;
import picocli.AutoComplete;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Spec;

/** {@code tapline completion}: prints a completion script for the shell. */
@Command(
    name = "completion",
    hidden = true,
    description = "Prints a completion script for bash and zsh: source <(tapline completion)")
public final class CompletionCommand implements Callable<Integer> {
  private final Console console;

  @Spec private CommandSpec spec;

  CompletionCommand(Console console) {
    this.console = console;
  }

  @Override
  public Integer call() {
    console.data(AutoComplete.bash("tapline", spec.root().commandLine()) + "\n");
    return 0;
  }
}
