package io.tapline.e2e;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import com.fasterxml.jackson.databind.JsonNode;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.Function;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;

/** The demo, against nginx's log and what tshark says of its capture (summary.csv). */
class DemoTest {
  private static final double NS_PER_MS = 1e6;

  private record Tier(String from, String to) {}

  private static Path bundled(String name) {
    return Cli.root().resolve("testbed/three_tier").resolve(name);
  }

  @Test
  void rowsEqualTheTruth() {
    List<JsonNode> lines = Cli.run("demo", "--json").expectSuccess().json();
    assertTiers(lines.stream().filter(row -> row.has("distribution")).toList());
    assertUrls(lines.stream().filter(row -> row.has("rank")).toList());
    assertFinding(lines.get(lines.size() - 1));
  }

  private static void assertTiers(List<JsonNode> rows) {
    Map<Tier, JsonNode> byTier =
        rows.stream()
            .collect(
                Collectors.toMap(
                    row -> new Tier(row.at("/key/src_ip").asText(), row.at("/key/dst_ip").asText()),
                    Function.identity()));
    List<String> truth = summary();
    assertThat(rows).hasSameSizeAs(truth);
    for (String line : truth) {
      String[] cells = line.split(",");
      JsonNode row = byTier.get(new Tier(cells[1], cells[2]));
      assertThat(row.at("/distribution/count").asInt())
          .as(line)
          .isEqualTo(Integer.parseInt(cells[4]));
      assertThat(row.get("value").asDouble() / NS_PER_MS)
          .as(line)
          .isCloseTo(Double.parseDouble(cells[5]), within(0.000_01));
      assertThat(row.at("/completeness/dropped")).as("losses").isEmpty();
    }
  }

  private static List<String> summary() {
    return Captures.lines(bundled("summary.csv")).stream().skip(1).toList();
  }

  /** Ten a window, and the most requested URL of all windows has as many requests as in the log. */
  private static void assertUrls(List<JsonNode> rows) {
    Map<Long, Integer> perWindow = new TreeMap<>();
    Map<String, Integer> requests = new HashMap<>();
    for (JsonNode row : rows) {
      perWindow.merge(row.get("window_end_ns").asLong(), 1, Integer::sum);
      requests.merge(row.at("/key/url").asText(), row.get("value").asInt(), Integer::sum);
    }
    assertThat(perWindow).hasSizeBetween(5, 7);
    assertThat(perWindow.values()).containsOnly(10);
    Map<String, Long> logged =
        Captures.lines(bundled("three_tier.nginx_access.jsonl.zst")).stream()
            .map(Cli::parse)
            .collect(Collectors.groupingBy(r -> r.get("url").asText(), Collectors.counting()));
    String most =
        logged.entrySet().stream().max(Map.Entry.comparingByValue()).orElseThrow().getKey();
    assertThat(requests.get(most)).isEqualTo(logged.get(most).intValue());
  }

  private static void assertFinding(JsonNode finding) {
    Map<String, Double> meanMs =
        summary().stream()
            .map(line -> line.split(","))
            .collect(Collectors.toMap(cells -> cells[0], cells -> Double.valueOf(cells[5])));
    assertThat(finding.get("server").asText()).isEqualTo("app1");
    assertThat(finding.get("peer").asText()).isEqualTo("app2");
    assertThat(finding.get("ratio").asDouble())
        .isCloseTo(meanMs.get("proxy-app1") / meanMs.get("proxy-app2"), within(0.001));
  }

  @Test
  void tablesAreForPeople() {
    Cli.Result result = Cli.run("demo").expectSuccess();
    assertThat(result.stdout())
        .contains("/product/")
        .containsPattern("proxy +app1 +1,292 ")
        .contains("Finding: connections from proxy to app1 take ")
        .containsPattern("Took [0-9.]+ s");
    long tables =
        result
            .stdout()
            .lines()
            .filter(line -> line.contains(" by ") && line.contains("UTC"))
            .count();
    long completeness =
        result.stdout().lines().filter(line -> line.strip().startsWith("completeness: ")).count();
    assertThat(completeness).as("completeness lines").isEqualTo(tables).isGreaterThan(5);
    assertThat(result.stderr()).contains("starting Kafka").contains("reading packets");
  }
}
