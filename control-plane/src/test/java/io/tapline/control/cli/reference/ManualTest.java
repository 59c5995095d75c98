package io.tapline.control.cli.reference;

import static org.assertj.core.api.Assertions.assertThat;

import io.tapline.control.cli.Main;
import io.tapline.control.cli.console.Console;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import picocli.CommandLine;
import picocli.CommandLine.Model.CommandSpec;

/** Compares manual pages and completions with {@code --help}. */
class ManualTest {
  private static final Path ROOT = Path.of(System.getProperty("tapline.root", ".."));
  private static final Path PROGRAMS = ROOT.resolve("build/bin");

  @TempDir Path folder;

  @BeforeEach
  void write() throws IOException {
    new Manual(tapline(), PROGRAMS).write(folder);
  }

  private static CommandLine tapline() {
    return Main.commandLine(new Console(OutputStream.nullOutputStream(), System.err, 0, false));
  }

  @Test
  void eachCommandHasAPageWithItsOptions() throws IOException {
    assertPages(tapline().getCommandSpec());
    try (Stream<Path> pages = Files.list(folder.resolve("man"))) {
      assertThat(pages.map(page -> page.getFileName().toString()))
          .contains("tapline.1.adoc", "tapline-query-submit.1.adoc", "tapline-multilog.1.adoc")
          .doesNotContain("tapline-reference.1.adoc", "tapline-manual.1.adoc");
    }
  }

  private void assertPages(CommandSpec command) throws IOException {
    String page = page(command.qualifiedName("-"));
    command.options().stream()
        .filter(option -> !option.hidden())
        .forEach(option -> assertThat(page).contains("*" + option.longestName() + "*"));
    for (CommandLine sub : command.subcommands().values()) {
      if (!sub.getCommandSpec().usageMessage().hidden()) {
        assertThat(page).contains("*" + sub.getCommandName() + "*");
        assertPages(sub.getCommandSpec());
      }
    }
  }

  @Test
  void nativeProgramsHaveTheSettingsOfTheirHelp() throws IOException {
    for (String program : NativeSettings.PROGRAMS) {
      String page = page(program);
      NativeSettings settings = NativeSettings.of(PROGRAMS.resolve(program));
      assertThat(page).contains(settings.description()).contains(settings.footer());
      settings.sections().stream()
          .flatMap(section -> section.settings().stream())
          .forEach(
              option -> assertThat(page).contains("*" + option.flag() + "*", option.meaning()));
    }
  }

  @Test
  void theMainPageListsTheEnvironment() throws IOException {
    String page = page("tapline");
    for (Environment variable : Environment.values()) {
      assertThat(page).contains("*" + variable + "*::", variable.meaning);
    }
  }

  @Test
  void examplesAreKeptUnchanged() throws IOException {
    assertThat(page("tapline-parse"))
        .contains(
            "....\ntapline parse --parser http_get --pcap web.pcap --json\ntapline parse --parser '")
        .contains(" --pcap mirror.pcap\n....\n");
  }

  @Test
  void bashCompletesCommandsOptionsAndChoices() throws Exception {
    assertThat(completed("tapline", "query", "sub")).containsExactly("submit");
    assertThat(completed("tapline", "run", "--spe")).containsExactly("--speed");
    assertThat(completed("tapline", "ref")).isEmpty();
    assertThat(completed("tapline-multilog", "--durability", "")).contains("interval", "commit");
    assertThat(completed("tapline-agent", "--control-plane-c")).contains("--control-plane-ca");
  }

  /** Returns bash's completions for the last word. */
  private List<String> completed(String... words) throws Exception {
    Path script = folder.resolve("completions").resolve(words[0]);
    String question =
        "source \"$0\"; COMP_WORDS=(\"$@\"); COMP_CWORD=$(($# - 1)); COMP_LINE=\"$*\"; COMP_POINT=${#COMP_LINE};"
            + " _complete_$1; printf '%s\\n' \"${COMPREPLY[@]}\"";
    ProcessBuilder bash = new ProcessBuilder("bash", "-c", question, script.toString());
    bash.command().addAll(List.of(words));
    Process process = bash.redirectError(ProcessBuilder.Redirect.INHERIT).start();
    String output = new String(process.getInputStream().readAllBytes());
    assertThat(process.waitFor()).isZero();
    return output.lines().map(String::strip).filter(line -> !line.isEmpty()).toList();
  }

  private String page(String name) throws IOException {
    return Files.readString(folder.resolve("man").resolve(name + ".1.adoc"));
  }
}
