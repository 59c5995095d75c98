package io.tapline.e2e;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import com.fasterxml.jackson.databind.JsonNode;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.Function;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;

/**
 * Compares connection times with a client's log of 250 connections, which were closed, reset,
 * half-closed, stalled, refused or never answered. Compares the results of queries with the
 * parsers' tuples, also for HTTP connections that carried one or many requests.
 */
class ConnectionTimeTest {
  private static final double NS_PER_SECOND = 1e9;

  private static Path tcpClean() {
    return Captures.path("generated/tcp_clean.pcap.zst");
  }

  private static List<JsonNode> tuples(String parser, Path capture) {
    return Cli.run("parse", "--parser", parser, "--pcap", capture.toString(), "--json")
        .expectSuccess()
        .json();
  }

  private static List<JsonNode> rows(String query, Path capture) {
    return Cli.run("run", query, "--pcap", capture.toString(), "--json").expectSuccess().json();
  }

  /** Returns the tuples of some events by flow. REQUIRES: each flow has at most one such tuple. */
  private static Map<String, JsonNode> byFlow(List<JsonNode> tuples, String... events) {
    return tuples.stream()
        .filter(t -> List.of(events).contains(t.get("event").asText()))
        .collect(Collectors.toMap(t -> t.get("flow_id").asText(), Function.identity()));
  }

  private static long eventNs(JsonNode tuple) {
    return tuple.get("time_ns").asLong() - tuple.get("certain_after_ns").asLong();
  }

  /** Returns the durations, in nanoseconds, of the flows whose beginning and end were captured. */
  private static Map<String, Long> durations(List<JsonNode> tuples) {
    Map<String, JsonNode> ends = byFlow(tuples, "fin", "rst");
    Map<String, Long> durations = new HashMap<>();
    byFlow(tuples, "syn")
        .forEach(
            (flow, syn) -> {
              if (ends.containsKey(flow)) {
                durations.put(flow, eventNs(ends.get(flow)) - eventNs(syn));
              }
            });
    return durations;
  }

  @Test
  void everyLoggedConnectionIsFoundWithItsDuration() {
    List<JsonNode> tuples = tuples("tcp_conn_time", tcpClean());
    Map<String, Long> durations = durations(tuples);
    Map<Integer, List<JsonNode>> byPort =
        byFlow(tuples, "syn").values().stream()
            .filter(syn -> durations.containsKey(syn.get("flow_id").asText()))
            .collect(Collectors.groupingBy(t -> t.get("src_port").asInt()));
    List<Double> differences = new ArrayList<>();
    for (JsonNode logged : log()) {
      if (logged.get("cport").isNull()) {
        continue;
      }
      double start = logged.get("start").asDouble() * NS_PER_SECOND;
      JsonNode syn =
          byPort.getOrDefault(logged.get("cport").asInt(), List.of()).stream()
              .min(
                  (a, b) ->
                      Double.compare(Math.abs(eventNs(a) - start), Math.abs(eventNs(b) - start)))
              .orElseThrow(() -> new AssertionError("not found: " + logged));
      double seconds = logged.get("end").asDouble() - logged.get("start").asDouble();
      differences.add(
          Math.abs(durations.get(syn.get("flow_id").asText()) / NS_PER_SECOND - seconds));
    }
    assertThat(differences).hasSize(223);
    differences.sort(null);
    assertThat(differences.get(differences.size() / 2))
        .as("median difference in seconds")
        .isLessThan(0.001);
  }

  @Test
  void refusedAndUnansweredConnectionsAreReportedAsSuch() {
    Map<String, Long> outcomes =
        tuples("tcp_conn_time", tcpClean()).stream()
            .collect(Collectors.groupingBy(t -> t.get("outcome").asText(), Collectors.counting()));
    assertThat(outcomes.get("refused")).isEqualTo(countLogged("refused"));
    assertThat(outcomes.get("unanswered")).isEqualTo(countLogged("dropped"));
  }

  @Test
  void diffGroupGivesTheDistributionPerPort() {
    List<JsonNode> tuples = tuples("tcp_conn_time", tcpClean());
    Map<String, Integer> portOf = new HashMap<>();
    byFlow(tuples, "syn").forEach((flow, syn) -> portOf.put(flow, syn.get("dst_port").asInt()));
    Map<Integer, List<Long>> expected = new TreeMap<>();
    durations(tuples)
        .forEach(
            (flow, ns) ->
                expected.computeIfAbsent(portOf.get(flow), ignored -> new ArrayList<>()).add(ns));

    List<JsonNode> rows =
        last(
            rows(
                "PARSE tcp_conn_time FROM * TO * LIMIT 90s SAMPLE * PROCESS (diff-group: group=dst_port)",
                tcpClean()));
    assertThat(rows).hasSameSizeAs(expected.keySet());
    for (JsonNode row : rows) {
      assertDistribution(row, expected.get(row.get("key").get("dst_port").asInt()));
    }
  }

  private static void assertDistribution(JsonNode row, List<Long> expected) {
    JsonNode distribution = row.get("distribution");
    double mean = expected.stream().mapToLong(Long::longValue).average().orElseThrow();
    assertThat(distribution.get("count").asLong()).isEqualTo(expected.size());
    assertThat(row.get("value").asDouble()).isCloseTo(mean, within(1e-6 * mean));
    assertThat(distribution.get("min").asLong())
        .isEqualTo(expected.stream().min(Long::compare).orElseThrow());
    assertThat(distribution.get("max").asLong())
        .isEqualTo(expected.stream().max(Long::compare).orElseThrow());
    long counted = 0;
    for (JsonNode bin : distribution.get("histogram")) {
      counted += bin.get("count").asLong();
    }
    assertThat(counted).isEqualTo(expected.size());
  }

  @Test
  void timesPerPageLeaveOutReusedConnectionsAndCountThem() {
    Path capture = Captures.path("generated/http_zipf.pcap.zst");
    Map<String, Long> durations = durations(tuples("tcp_conn_time", capture));
    Map<String, List<JsonNode>> requests =
        tuples("http_get", capture).stream()
            .collect(Collectors.groupingBy(t -> t.get("flow_id").asText()));
    Map<String, List<Long>> expected = new TreeMap<>();
    long reused = 0;
    for (Map.Entry<String, Long> flow : durations.entrySet()) {
      List<JsonNode> ofFlow = requests.getOrDefault(flow.getKey(), List.of());
      if (ofFlow.size() == 1) {
        String url = ofFlow.get(0).get("url").asText();
        expected.computeIfAbsent(url, ignored -> new ArrayList<>()).add(flow.getValue());
      } else if (ofFlow.size() > 1) {
        reused++;
      }
    }

    List<JsonNode> rows =
        last(
            rows(
                "PARSE (tcp_conn_time, http_get) FROM * TO *:80 LIMIT 500s SAMPLE * PROCESS (diff-group: group=get)",
                capture));
    assertThat(reused).as("connections of this capture that carried several requests").isPositive();
    assertThat(rows.stream().map(r -> r.get("key").get("url").asText()).sorted().toList())
        .isEqualTo(List.copyOf(expected.keySet()));
    for (JsonNode row : rows) {
      assertDistribution(row, expected.get(row.get("key").get("url").asText()));
      assertThat(row.get("completeness").get("reused").asLong()).isEqualTo(reused);
    }
  }

  /** Returns the rows of the last window, which covers the whole query. */
  private static List<JsonNode> last(List<JsonNode> rows) {
    long end = rows.stream().mapToLong(r -> r.get("window_end_ns").asLong()).max().orElseThrow();
    return rows.stream().filter(r -> r.get("window_end_ns").asLong() == end).toList();
  }

  private static List<JsonNode> log() {
    return Captures.lines(Captures.path("generated/tcp_clean.client_conns.jsonl")).stream()
        .map(Cli::parse)
        .toList();
  }

  private static long countLogged(String kind) {
    return log().stream().filter(row -> row.get("kind").asText().equals(kind)).count();
  }
}
