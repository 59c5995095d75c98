package io.tapline.control.cli.reference;

import static org.assertj.core.api.Assertions.assertThat;

import io.tapline.control.cli.reference.NativeSettings.Setting;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** Tests the inputs of the configuration reference: environment variables and programs' help. */
class ConfigurationPageTest {
  private static final Path ROOT = Path.of(System.getProperty("tapline.root", ".."));
  private static final Pattern VARIABLE =
      Pattern.compile("\\$\\{env:([A-Z_]+)|\\$\\{(JAVA_HOME|TAPLINE_[A-Z_]+)");
  private static final Pattern CONSTANT = Pattern.compile("\"([A-Z][A-Z_]{4,})\"");

  @Test
  void everyVariableInTheSourcesIsDocumented() throws IOException {
    Set<String> read = new TreeSet<>(variables(ROOT.resolve("bin/tapline"), VARIABLE));
    for (String module : List.of("control-plane", "flink-jobs", "query-compiler", "sdn-app")) {
      try (Stream<Path> files = Files.walk(ROOT.resolve(module).resolve("src/main"))) {
        for (Path file : files.filter(f -> f.toString().matches(".*\\.(java|xml)")).toList()) {
          read.addAll(variables(file, VARIABLE));
          if (Files.readString(file).contains("System.getenv")) {
            read.addAll(variables(file, CONSTANT));
          }
        }
      }
    }
    assertThat(read)
        .containsExactlyInAnyOrderElementsOf(
            Arrays.stream(Environment.values()).map(Enum::name).toList());
  }

  @Test
  void aLineOfHelpIsParsed() {
    String help =
        """
        Usage: x

        Settings:
          --busy                          never sleep
          --workers PARSERS[=N]           threads; one each
          --durability memory|interval    what a crash [or two] may take [interval]
        """;
    assertThat(NativeSettings.parse(help).sections().get(0).settings())
        .containsExactly(
            new Setting("--busy", "", "", "never sleep"),
            new Setting("--workers", "PARSERS[=N]", "", "threads; one each"),
            new Setting(
                "--durability", "memory|interval", "interval", "what a crash [or two] may take"));
  }

  private static Set<String> variables(Path file, Pattern pattern) throws IOException {
    Set<String> names = new TreeSet<>();
    Matcher matcher = pattern.matcher(Files.readString(file));
    while (matcher.find()) {
      for (int group = 1; group <= matcher.groupCount(); group++) {
        if (matcher.group(group) != null) {
          names.add(matcher.group(group));
        }
      }
    }
    return names;
  }
}
