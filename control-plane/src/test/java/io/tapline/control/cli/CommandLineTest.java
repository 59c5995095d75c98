package io.tapline.control.cli;

import static org.assertj.core.api.Assertions.assertThat;

import io.tapline.control.cli.console.Console;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.MethodSource;
import picocli.CommandLine;

/** Tests valid and invalid command lines that do not require running services. */
class CommandLineTest {
  @TempDir Path folder;

  private record Result(int exitCode, String out, String err) {}

  private static Result run(String... arguments) {
    ByteArrayOutputStream out = new ByteArrayOutputStream();
    ByteArrayOutputStream err = new ByteArrayOutputStream();
    int exitCode = Main.run(new Console(out, err, 0, false), arguments);
    return new Result(
        exitCode, out.toString(StandardCharsets.UTF_8), err.toString(StandardCharsets.UTF_8));
  }

  static Stream<String> commands() {
    Console console = new Console(OutputStream.nullOutputStream(), System.err, 0, false);
    List<String> names = new ArrayList<>();
    collect(Main.commandLine(console), "", names);
    return names.stream();
  }

  private static void collect(CommandLine command, String path, List<String> names) {
    command
        .getSubcommands()
        .forEach(
            (name, sub) -> {
              names.add((path + " " + name).strip());
              collect(sub, path + " " + name, names);
            });
  }

  @Test
  void invalidNumbersAreReported() {
    Result result = run("diagnose", "path", "--avoid", "s1");
    assertThat(result.exitCode()).isEqualTo(2);
    assertThat(result.err()).contains("'--avoid' (SWITCH): 's1' is not a number");
  }

  @Test
  void aMissingPoolFileIsReported() {
    Result result = run("replicate", "q-1", "--pool", folder.resolve("pool.yaml").toString());
    assertThat(result.exitCode()).isEqualTo(2);
    assertThat(result.err()).contains("pool.yaml: there is no such file");
  }

  @ParameterizedTest
  @MethodSource("commands")
  void everyCommandHasHelp(String command) {
    Result result = run((command + " --help").split(" "));
    assertThat(result.exitCode()).isZero();
    assertThat(result.out()).startsWith("Usage: tapline " + command);
    assertThat(result.err()).isEmpty();
  }

  @Test
  void aTokenIsNotSentToOtherHostsInTheClear() throws IOException {
    String token = Files.writeString(folder.resolve("token"), "secret").toString();
    for (String url : List.of("http://192.0.2.1:8480", "HTTP://control.example:8480")) {
      Result result = run("query", "list", "--server", url, "--token-file", token);
      assertThat(result.exitCode()).isEqualTo(CommandLine.ExitCode.USAGE);
      assertThat(result.err())
          .contains("--server " + url, "read your token", "use https://")
          .doesNotContain("secret");
    }
    Result local = run("query", "list", "--server", "http://127.0.0.1:1", "--token-file", token);
    assertThat(local.err()).contains("no server answers at http://127.0.0.1:1");
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      quoteCharacter = '"',
      value = {
        "\"\"|missing command",
        "rnu|unknown command 'rnu', did you mean run?",
        "query shw|unknown command 'shw', did you mean show?",
        "run --pcp x|unknown option '--pcp', did you mean --pcap?",
        "server --prt=1|unknown option '--prt', did you mean --port?",
        "fmt a b|'b' is one argument too many",
        "run q|no packets to read: name capture files with --pcap or --tap",
        "run q --tap sw1|'sw1' is not a tap: expected SWITCH",
        "server --agents h:1 --tap sw1=m0|--tap is for the monitor of this host",
        "server --interface lo --tap sw1=a.pcap|queries read capture files or interfaces, not both",
        "run q --pcap f --speed 2x|'2x' is not a speed: use max or 1x",
        "server --interface lo --pcap f|mutually exclusive",
        "server --port 70000|a port must be a number from 0 to 65535",
        "query list --server nonsense|'nonsense' is not a server's URL",
        "processors topk|unknown processor 'topk', did you mean top-k?"
      })
  void wrongUsageIsExplainedOnce(String arguments, String message) {
    Result result = run(arguments.isEmpty() ? new String[0] : arguments.split(" "));
    assertThat(result.exitCode()).isEqualTo(2);
    assertThat(result.err()).startsWith("tapline: ").containsOnlyOnce(message);
    assertThat(result.out()).isEmpty();
  }

  @Test
  void aQueryIsReadFromAFile() throws IOException {
    Path file = Files.writeString(folder.resolve("query"), "parse a to h process (top-k)\n");
    assertThat(run("fmt", "@" + file))
        .isEqualTo(new Result(0, "PARSE a\nTO h\nPROCESS (top-k)\n", ""));
  }

  @Test
  void aMissingQueryFileIsAFailure() {
    Path file = folder.resolve("none");
    assertThat(run("fmt", "@" + file))
        .isEqualTo(new Result(1, "", "tapline: no query file " + file + "\n"));
  }

  @Test
  void aSyntaxErrorShowsItsPosition() {
    Result result = run("fmt", "PRASE a TO h PROCESS (top-k)");
    assertThat(result.exitCode()).isEqualTo(2);
    assertThat(result.err()).contains("\n  ^~~~~\n").contains("did you mean PARSE?");
  }

  @Test
  void anUnreachableServerIsNamed() {
    Result result = run("query", "list", "--server", "http://127.0.0.1:1");
    assertThat(result.exitCode()).isEqualTo(1);
    assertThat(result.err()).startsWith("tapline: no server answers at http://127.0.0.1:1:");
    assertThat(result.err().lines()).hasSize(1);
  }

  @Test
  void anUnwritableResultIsAFailure() throws IOException {
    ByteArrayOutputStream err = new ByteArrayOutputStream();
    try (OutputStream full = Files.newOutputStream(Path.of("/dev/full"))) {
      Console console = new Console(full, err, 0, false);
      assertThat(Main.run(console, "processors")).isEqualTo(1);
    }
    assertThat(err.toString(StandardCharsets.UTF_8))
        .isEqualTo("tapline: can't write to standard output: No space left on device\n");
  }
}
