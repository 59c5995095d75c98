package io.tapline.control.cli.options;

import io.tapline.control.cli.console.CommandException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import picocli.CommandLine.Option;

/** Options for out-of-tree parsers. */
public final class PluginOptions {
  @Option(
      names = "--plugin",
      paramLabel = "FILE",
      description =
          "Shared object with parsers (docs/tutorials/a-parser-out-of-tree.md); repeat for several.")
  private List<Path> files = new ArrayList<>();

  /** Returns the files' absolute paths after checking that the files exist. */
  List<Path> checked() {
    for (Path file : files) {
      if (!Files.isRegularFile(file)) {
        throw new CommandException("no plug-in " + file);
      }
    }
    return files.stream().map(Path::toAbsolutePath).toList();
  }

  public Installation installation() {
    return Installation.with(checked());
  }
}
