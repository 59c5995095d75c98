package io.tapline.e2e;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;

/** Checks that README.md and docs/reference/cli.md show the program's output. */
class DocumentedOutputTest {
  private static final String README = "README.md";
  private static final String REFERENCE = "docs/reference/cli.md";
  private static final Pattern COMMAND_ROW =
      Pattern.compile("^\\| (\\[`.+?) \\|", Pattern.MULTILINE);
  private static final Pattern CODE = Pattern.compile("`([a-z]+)`");
  private static final Pattern LISTED = Pattern.compile("^  ([a-z]+)  ", Pattern.MULTILINE);

  @Test
  void demoPrintsTheDocumentedOutput() {
    String printed = Cli.run("demo").expectSuccess().stdout();
    // The document shows one window of each table, without the table's title.
    String shown = block(README, "Durations of connections between tiers");
    assertThat(words(printed.replaceAll("(?m)^diff-group by .*\n", ""))).contains(words(shown));
    assertThat(printed).containsSubsequence(lines(block(REFERENCE, "diff-group by src_ip")));
  }

  @Test
  void runPrintsTheDocumentedOutput() {
    String query =
        "PARSE http_get FROM * TO *:80 LIMIT 90s SAMPLE * PROCESS (top-k: k=3, w=10s, s=10s)";
    String capture = Cli.root().resolve("testbed/captures/http_small.pcap.zst").toString();
    String shown = block(REFERENCE, "$ tapline run ");
    assertThat(shown).startsWith("$ tapline run \"" + query + "\" --pcap ");
    String printed = Cli.run("run", query, "--pcap", capture).expectSuccess().stdout();
    assertThat(printed).startsWith(String.join("\n", withoutCommand(shown)) + "\n");
  }

  @Test
  void anErrorInAQueryPrintsTheDocumentedOutput() {
    String shown = block(REFERENCE, "$ tapline fmt ");
    Cli.Result result = Cli.run("fmt", "PRASE http_get TO h1 PROCESS (top-k)");
    assertThat(result.exitCode()).isEqualTo(2);
    assertThat(result.stderr().strip()).isEqualTo(String.join("\n", withoutCommand(shown)));
  }

  @Test
  void everyCommandPrintsTheDocumentedOutput() {
    List<String> documented =
        COMMAND_ROW
            .matcher(document(REFERENCE))
            .results()
            .flatMap(row -> CODE.matcher(row.group(1)).results())
            .map(code -> code.group(1))
            .toList();
    String help = Cli.run("--help").expectSuccess().stdout();
    List<String> listed =
        LISTED
            .matcher(help.substring(help.indexOf("Commands:")))
            .results()
            .map(match -> match.group(1))
            .toList();
    assertThat(documented).containsExactlyInAnyOrderElementsOf(listed);
  }

  private static String document(String name) {
    try {
      return Files.readString(Cli.root().resolve(name));
    } catch (IOException e) {
      throw new AssertionError(name, e);
    }
  }

  /** Returns the indented block that begins with this text, without the indentation. */
  private static String block(String name, String beginning) {
    Matcher first =
        Pattern.compile("^( +)" + Pattern.quote(beginning), Pattern.MULTILINE)
            .matcher(document(name));
    assertThat(first.find()).as("%s has a block that begins with: %s", name, beginning).isTrue();
    String indent = first.group(1);
    return document(name)
        .substring(first.start())
        .lines()
        .takeWhile(line -> line.isBlank() || line.startsWith(indent))
        .map(line -> line.isBlank() ? "" : line.substring(indent.length()))
        .collect(Collectors.joining("\n"))
        .strip();
  }

  private static String words(String text) {
    return String.join(" ", text.strip().split("\\s+"));
  }

  private static List<String> lines(String block) {
    return block.lines().filter(line -> !line.strip().equals("…")).toList();
  }

  private static List<String> withoutCommand(String block) {
    return lines(block).subList(1, lines(block).size());
  }
}
