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
import org.junit.jupiter.api.io.TempDir;

/**
 * Compares the demo's results with nginx's log and with tshark's summary of the capture
 * (summary.csv).
 */
class DemoTest {
  private static final double NS_PER_MS = 1e6;

  private record Tier(String from, String to) {}

  @TempDir Path folder;

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

  /**
   * Checks that each window has ten rows, and that the most requested URL of all windows has as
   * many requests as in the log.
   */
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
    String busiest =
        logged.entrySet().stream().max(Map.Entry.comparingByValue()).orElseThrow().getKey();
    assertThat(requests.get(busiest)).isEqualTo(logged.get(busiest).intValue());
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
  void outputIsReadableTables() {
    Cli.Result result = Cli.run("demo", "--figures", folder.toString()).expectSuccess();
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
    assertFigures();
  }

  /** Checks that the figures show the effects described in NetAlytics, section 7.1. */
  private void assertFigures() {
    Map<String, Double> ms = figure("figure-9.csv");
    Map<String, Double> mb = figure("figure-11.csv");
    for (String line : summary()) {
      String[] cells = line.split(",");
      String tier = cells[0].replace('-', ',');
      assertThat(ms.get(tier)).as(line).isCloseTo(Double.parseDouble(cells[5]), within(0.000_01));
      assertThat(mb.get(tier)).as(line).isEqualTo(Double.parseDouble(cells[8]) / 1e6);
    }
    assertThat(ms.get("proxy,app1") / ms.get("proxy,app2")).isBetween(3.5, 4.5);
    assertThat(ms.get("app1,db") / ms.get("app2,db")).isBetween(0.8, 1.25);
    assertThat(mb.get("app1,db") / mb.get("app2,db")).isBetween(2.5, 3.5);
    assertThat(mb.get("app1,cache") / mb.get("app2,cache")).isBetween(0.2, 0.3);
    List<String> bars = Captures.lines(folder.resolve("figure-10.csv"));
    long connections =
        bars.stream().skip(1).mapToLong(line -> Long.parseLong(line.split(",")[1])).sum();
    assertThat(connections).isEqualTo(2583);
    for (String figure : List.of("figure-9.svg", "figure-10.svg", "figure-11.svg")) {
      assertThat(folder.resolve(figure)).content().startsWith("<svg").endsWith("</svg>\n");
    }
  }

  /** Returns a figure's values by "from,to". */
  private Map<String, Double> figure(String file) {
    return Captures.lines(folder.resolve(file)).stream()
        .skip(1)
        .collect(
            Collectors.toMap(
                line -> line.substring(0, line.lastIndexOf(',')),
                line -> Double.valueOf(line.substring(line.lastIndexOf(',') + 1))));
  }
}
