package io.tapline.bench;

import static org.assertj.core.api.Assertions.assertThat;

import io.tapline.control.cli.Main;
import io.tapline.control.cli.console.Console;
import io.tapline.control.cli.reference.ConfigurationPage;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;

/** Compares the reference page with the options of all programs, including {@code bench}. */
class ReferencePageTest {
  private static final Path ROOT = Path.of(System.getProperty("tapline.root", ".."));

  @Test
  void thePageMatchesTheProgramsHelp() throws IOException {
    Console console = new Console(OutputStream.nullOutputStream(), System.err, 0, false);
    String said = ConfigurationPage.of(Main.commandLine(console), ROOT.resolve("build/bin"));
    assertThat(said).contains("## tapline bench flink");
    assertThat(Files.readString(ROOT.resolve("docs/reference/configuration.md")))
        .as("make reference writes it again")
        .isEqualTo(said);
  }
}
