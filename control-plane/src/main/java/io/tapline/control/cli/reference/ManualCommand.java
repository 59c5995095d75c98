package io.tapline.control.cli.reference;

import io.tapline.control.cli.console.Console;
import io.tapline.control.cli.options.Installation;
import java.io.IOException;
import java.nio.file.Path;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/** {@code tapline manual}: manual pages and completions, for {@code make packages}. */
@Command(
    name = "manual",
    hidden = true,
    description = "Writes manual pages (AsciiDoc) and completion scripts of all programs.")
public final class ManualCommand implements Callable<Integer> {
  @Parameters(paramLabel = "FOLDER", description = "Output folder.")
  private Path folder;

  @Spec private CommandSpec spec;

  ManualCommand(Console console) {}

  @Override
  public Integer call() throws IOException {
    Installation installation = Installation.current();
    installation.requireMonitor();
    new Manual(spec.root().commandLine(), installation.programs()).write(folder);
    return 0;
  }
}
