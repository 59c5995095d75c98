package io.tapline.e2e;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import javax.tools.ToolProvider;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * Tests the tutorial "write a processor": its class compiles, its line registers the class
 * alongside the built-in aggregates, its commands print the page's output, and its results agree
 * with those of group-max and group-min.
 */
class AggregateTutorialTest {
  private static final String PAGE = "write-a-processor.md";
  private static final Pattern FILE = block("file: (\\S+)", "java");
  private static final Pattern LINE = block("line: (\\S+)", "text");
  private static final Pattern ROW = block("(row)", "json");
  private static final Pattern QUERY = Pattern.compile("run \"(.*?)\" --pcap (\\S+)");
  private static final String BUILT_IN =
      ", (group-max: group=status, by=response_time_ns), (group-min: group=status, by=response_time_ns)";
  private static final int MAX_LINES = 40;

  @TempDir Path folder;

  private static Pattern block(String comment, String language) {
    return Pattern.compile(
        "<!-- %s -->\n```%s\n(.*?)```".formatted(comment, language), Pattern.DOTALL);
  }

  @Test
  void anAggregateIsOneFolderAndOneLine() throws Exception {
    String page = Files.readString(Cli.root().resolve("docs/tutorials").resolve(PAGE));
    compile(only(FILE, page));
    register(only(LINE, page));
    Map<String, String> environment = Map.of("TAPLINE_CLASSPATH", folder.toString());
    try (Tutorial tutorial = new Tutorial(PAGE, Map.of(), environment)) {
      tutorial.run(ignored -> {});
      assertThat(tutorial.sessions()).isEqualTo(2);
    }
    Matcher query = only(QUERY, page);
    String capture = Cli.root().resolve(query.group(2)).toString();
    List<JsonNode> rows =
        Cli.run(environment, "run", query.group(1) + BUILT_IN, "--pcap", capture, "--json")
            .expectSuccess()
            .json();
    JsonNode shownNode = Cli.parse(only(ROW, page).group(2));
    assertThat(rows).anySatisfy(row -> assertHas(row, shownNode));
    List<JsonNode> ranges = of("range", rows);
    assertThat(ranges).hasSizeGreaterThan(1);
    for (JsonNode row : ranges) {
      JsonNode max = sameGroup(row, of("group-max", rows)).get("value");
      JsonNode min = sameGroup(row, of("group-min", rows)).get("value");
      assertThat(row.at("/details/most")).isEqualTo(max);
      assertThat(row.at("/details/least")).isEqualTo(min);
      assertThat(row.get("value").asLong()).isEqualTo(max.asLong() - min.asLong());
    }
  }

  private static void assertHas(JsonNode row, JsonNode shownNode) {
    shownNode
        .properties()
        .forEach(
            field ->
                assertThat(row.get(field.getKey())).as(field.getKey()).isEqualTo(field.getValue()));
  }

  private static List<JsonNode> of(String processor, List<JsonNode> rows) {
    return rows.stream().filter(row -> row.get("processor").asText().equals(processor)).toList();
  }

  private static JsonNode sameGroup(JsonNode group, List<JsonNode> rows) {
    return rows.stream()
        .filter(row -> row.get("key").equals(group.get("key")))
        .filter(row -> row.get("window_end_ns").equals(group.get("window_end_ns")))
        .findFirst()
        .orElseThrow();
  }

  private static Matcher only(Pattern block, String page) {
    assertThat(block.matcher(page).results().count()).isOne();
    Matcher matcher = block.matcher(page);
    assertThat(matcher.find()).isTrue();
    return matcher;
  }

  private void compile(Matcher file) throws IOException {
    List<String> own =
        file.group(2)
            .lines()
            .filter(line -> !line.isBlank() && !line.matches("(package|import) .*"))
            .toList();
    assertThat(own).hasSizeLessThanOrEqualTo(MAX_LINES);
    Path source = folder.resolve(file.group(1));
    Files.createDirectories(source.getParent());
    Files.writeString(source, file.group(2));
    String[] arguments = {
      "-cp", System.getProperty("java.class.path"), "-d", folder.toString(), source.toString()
    };
    int result = ToolProvider.getSystemJavaCompiler().run(null, null, null, arguments);
    assertThat(result).as("exit code of javac").isZero();
  }

  private void register(Matcher line) throws IOException {
    Path registry = Path.of(line.group(1));
    assertThat(Cli.root().resolve(registry)).isRegularFile();
    assertThat(line.group(2).lines()).hasSize(1);
    Path services = folder.resolve("META-INF/services").resolve(registry.getFileName());
    Files.createDirectories(services.getParent());
    Files.writeString(services, line.group(2));
  }
}
