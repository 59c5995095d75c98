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
 * The tutorial "write a processor": its class is compiled, its line registers it beside the built-in
 * aggregates, and its commands print what the page shows.
 */
class AggregateTutorialTest {
  private static final String PAGE = "write-a-processor.md";
  private static final Pattern FILE =
      Pattern.compile("<!-- file: (\\S+) -->\n```java\n(.*?)```", Pattern.DOTALL);
  private static final Pattern LINE =
      Pattern.compile("<!-- line: (\\S+) -->\n```text\n(.*?)```", Pattern.DOTALL);
  private static final Pattern QUERY =
      Pattern.compile("<!-- query -->\n```tapline\n(.*?)```", Pattern.DOTALL);
  private static final int MOST_LINES = 40;

  @TempDir Path folder;

  @Test
  void anAggregateIsOneFolderAndOneLine() throws Exception {
    String page = Files.readString(Cli.root().resolve("docs/tutorials").resolve(PAGE));
    compile(only(FILE, page));
    register(only(LINE, page));
    Map<String, String> environment = Map.of("TAPLINE_CLASSPATH", folder.toString());
    try (Tutorial tutorial = new Tutorial(PAGE, Map.of(), environment)) {
      tutorial.run(started -> {});
      assertThat(tutorial.sessions()).isOne();
    }
    String query = only(QUERY, page).group(1).strip();
    String capture = Cli.root().resolve("testbed/captures/http_small.pcap.zst").toString();
    assertThat(Cli.run(environment, "run", query, "--pcap", capture).expectSuccess().stdout())
        .containsPattern("status +range response_time \\S+ +least \\S+ +most \\S+");
    List<JsonNode> rows =
        Cli.run(environment, "run", query, "--pcap", capture, "--json").expectSuccess().json();
    assertThat(rows).extracting(row -> row.at("/key/status").asInt()).contains(200);
    assertThat(rows)
        .filteredOn(row -> row.get("value").isNumber())
        .isNotEmpty()
        .allSatisfy(AggregateTutorialTest::isRangeOfItsDetails);
  }

  private static void isRangeOfItsDetails(JsonNode row) {
    long range = row.at("/details/most").asLong() - row.at("/details/least").asLong();
    assertThat(row.get("value").asLong()).isEqualTo(range).isNotNegative();
    assertThat(row.get("low")).isEqualTo(row.get("value"));
    assertThat(row.get("high")).isEqualTo(row.get("value"));
  }

  private static Matcher only(Pattern block, String page) {
    assertThat(block.matcher(page).results().count()).isOne();
    Matcher found = block.matcher(page);
    assertThat(found.find()).isTrue();
    return found;
  }

  private void compile(Matcher file) throws IOException {
    List<String> own =
        file.group(2)
            .lines()
            .filter(line -> !line.isBlank() && !line.matches("(package|import) .*"))
            .toList();
    assertThat(own).hasSizeLessThanOrEqualTo(MOST_LINES);
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
