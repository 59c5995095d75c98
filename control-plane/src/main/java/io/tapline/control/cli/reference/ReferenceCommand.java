package io.tapline.control.cli.reference;

import io.tapline.control.cli.console.Console;
import io.tapline.control.cli.options.Installation;
import java.io.IOException;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Spec;

/** {@code tapline reference}: prints the page of all options, for {@code make reference}. */
@Command(
    name = "reference",
    hidden = true,
    description = "Prints docs/reference/configuration.md, generated from the programs.")
public final class ReferenceCommand implements Callable<Integer> {
  private final Console console;

  @Spec private CommandSpec spec;

  ReferenceCommand(Console console) {
    this.console = console;
  }

  @Override
  public Integer call() throws IOException {
    Installation installation = Installation.current();
    console.print(
        ConfigurationPage.of(spec.root().commandLine(), installation.requireMonitor().getParent()));
    return 0;
  }
}
