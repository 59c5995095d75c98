package io.tapline.e2e;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Collectors;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;

/**
 * Compares rankings of a capture of about 34,000 requests with the log of the nginx that served
 * them, and with a reference evaluator.
 *
 * <p>nginx's timestamps have millisecond resolution, so a request's window is determined from the
 * capture: a client port's n-th tuple is the n-th request that nginx logged for that port.
 */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
class HttpRankingTest {
  private static final long SECOND_NS = 1_000_000_000L;
  private static final String TUMBLING =
      "PARSE http_get FROM * TO *:80 LIMIT 90s SAMPLE * PROCESS (top-k: k=10, w=10s, s=10s)";
  private static final String ROLLING =
      "PARSE http_get FROM * TO *:80 LIMIT 90s SAMPLE * PROCESS (top-k: k=10, w=10s)";

  private record Request(long timeNs, String url) {}

  private record Rank(long windowEndNs, int rank, String url, double value) {}

  private Path capture;
  private List<JsonNode> tuples;

  @BeforeAll
  void parseTheCapture() {
    capture = Captures.path("generated/http_zipf.pcap.zst");
    tuples =
        Cli.run("parse", "--parser", "http_get", "--pcap", capture.toString(), "--json")
            .expectSuccess()
            .json();
  }

  @Test
  void tumblingWindowsEqualTheServersLog() {
    assertThat(run(TUMBLING)).isEqualTo(ranking(loggedRequests(), 10 * SECOND_NS, 10));
  }

  @Test
  void rollingWindowsEqualAPlainEvaluator() {
    List<Request> requests =
        tuples.stream()
            .map(t -> new Request(t.get("time_ns").asLong(), t.get("url").asText()))
            .toList();
    assertThat(run(ROLLING)).isEqualTo(ranking(requests, SECOND_NS, 10));
  }

  @Test
  void aServerGivesTheSameRows() throws Exception {
    try (Server server = Server.start("--pcap", capture.toString())) {
      String id = server.submit(TUMBLING);
      server.awaitState(id, "finished");
      List<JsonNode> rows =
          Cli.run("query", "results", id, "--server", server.url(), "--json")
              .expectSuccess()
              .json();
      assertThat(ranks(rows)).isEqualTo(ranking(loggedRequests(), 10 * SECOND_NS, 10));
    }
  }

  private List<Rank> run(String query) {
    return ranks(
        Cli.run("run", query, "--pcap", capture.toString(), "--json").expectSuccess().json());
  }

  private static List<Rank> ranks(List<JsonNode> rows) {
    return rows.stream()
        .map(
            row ->
                new Rank(
                    row.get("window_end_ns").asLong(),
                    row.get("rank").asInt(),
                    row.get("key").get("url").asText(),
                    row.get("value").asDouble()))
        .sorted(Comparator.comparingLong(Rank::windowEndNs).thenComparingInt(Rank::rank))
        .toList();
  }

  /**
   * Returns the requests in nginx's log, each with the time of its tuple. Omits requests that nginx
   * could not parse (it logs no URI), which are too rare for a ranking. Includes HTTP/0.9 requests,
   * which have no version.
   */
  private List<Request> loggedRequests() {
    Map<String, List<JsonNode>> byClient =
        tuples.stream().collect(Collectors.groupingBy(t -> client(t, "src_ip", "src_port")));
    Map<String, Integer> seen = new HashMap<>();
    List<Request> requests = new ArrayList<>();
    for (JsonNode row : log()) {
      boolean hasUri = !row.get("uri").asText().isEmpty();
      String client = client(row, "client", "cport");
      JsonNode tuple = byClient.get(client).get(seen.merge(client, 1, Integer::sum) - 1);
      if (hasUri) {
        assertThat(tuple.get("url").asText()).isEqualTo(row.get("uri").asText());
        requests.add(new Request(tuple.get("time_ns").asLong(), row.get("uri").asText()));
      }
    }
    assertThat(seen.values().stream().mapToInt(Integer::intValue).sum()).isEqualTo(tuples.size());
    return requests;
  }

  private static String client(JsonNode row, String address, String port) {
    return row.get(address).asText() + ":" + row.get(port).asText();
  }

  /**
   * Returns the records of nginx's log, in the order in which each connection carried its requests.
   */
  private static List<JsonNode> log() {
    return Captures.lines(Captures.path("generated/http_zipf.nginx_access.jsonl.zst")).stream()
        .map(Cli::parse)
        .sorted(
            Comparator.<JsonNode>comparingLong(r -> r.get("conn").asLong())
                .thenComparingLong(r -> r.get("nreq").asLong()))
        .toList();
  }

  /**
   * Returns the ranking that a reference evaluator computes. It counts each 10 s window separately;
   * windows end at multiples of the slide.
   */
  private static List<Rank> ranking(List<Request> requests, long slideNs, int k) {
    TreeMap<Long, Map<String, Long>> windows = new TreeMap<>();
    for (Request request : requests) {
      long firstEnd = (request.timeNs() / slideNs + 1) * slideNs;
      for (long end = firstEnd; end < firstEnd + 10 * SECOND_NS; end += slideNs) {
        windows
            .computeIfAbsent(end, ignored -> new HashMap<>())
            .merge(request.url(), 1L, Long::sum);
      }
    }
    List<Rank> ranks = new ArrayList<>();
    windows.forEach(
        (end, counts) -> {
          List<Map.Entry<String, Long>> best =
              counts.entrySet().stream()
                  .sorted(
                      Map.Entry.<String, Long>comparingByValue()
                          .reversed()
                          .thenComparing(Map.Entry.comparingByKey()))
                  .limit(k)
                  .toList();
          for (int i = 0; i < best.size(); i++) {
            ranks.add(new Rank(end, i + 1, best.get(i).getKey(), best.get(i).getValue()));
          }
        });
    return ranks;
  }
}
