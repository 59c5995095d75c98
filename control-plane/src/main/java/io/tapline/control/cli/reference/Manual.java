package io.tapline.control.cli.reference;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import picocli.AutoComplete;
import picocli.CommandLine;
import picocli.CommandLine.Model.CommandSpec;

/**
 * Manual pages (AsciiDoc) and completion scripts of all programs, generated from the programs' own
 * options.
 *
 * <pre>
 * FOLDER/man/tapline-query-submit.1.adoc     a page for each program and each command
 * FOLDER/completions/tapline                 bash; also zsh, after bashcompinit
 * </pre>
 */
final class Manual {
  private final CommandLine tapline;
  private final Path programs;

  /** Creates a manual; {@code programs} is the folder of the native programs. */
  Manual(CommandLine tapline, Path programs) {
    this.tapline = tapline;
    this.programs = programs;
  }

  /** Writes the man pages and shell completions to a folder, which it creates if necessary. */
  void write(Path folder) throws IOException {
    Path pages = Files.createDirectories(folder.resolve("man"));
    Path completions = Files.createDirectories(folder.resolve("completions"));
    String version = tapline.getCommandSpec().version()[0];
    List<CommandLine> all = new ArrayList<>(List.of(tapline));
    for (String program : NativeSettings.PROGRAMS) {
      all.add(NativeCommand.of(program, NativeSettings.of(programs.resolve(program))));
    }
    for (CommandLine program : all) {
      String name = program.getCommandName();
      Files.writeString(completions.resolve(name), AutoComplete.bash(name, program) + "\n");
      writePages(pages, program.getCommandSpec(), version);
    }
  }

  private static void writePages(Path folder, CommandSpec command, String version)
      throws IOException {
    String page = ManualPage.of(command, version);
    Files.writeString(folder.resolve(command.qualifiedName("-") + ".1.adoc"), page);
    for (CommandLine sub : command.subcommands().values()) {
      if (!sub.getCommandSpec().usageMessage().hidden()) {
        writePages(folder, sub.getCommandSpec(), version);
      }
    }
  }
}
