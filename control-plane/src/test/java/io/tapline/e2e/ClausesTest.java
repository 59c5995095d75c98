package io.tapline.e2e;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import com.fasterxml.jackson.databind.JsonNode;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.Function;
import java.util.function.ToLongFunction;
import java.util.stream.Collectors;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/**
 * Tests that every clause and argument of the language affects the results as documented. Compares
 * the rows that a server computes from a small capture with simple computations over the same
 * tuples, or with the capture's known connections.
 */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
class ClausesTest {
  private static final long SECOND_NS = 1_000_000_000L;
  private static final long FIRST_PACKET_NS = 1_795_204_788_597_659_000L;
  private static final long PACKETS = 364;

  private final Path capture = Cli.root().resolve("testbed/captures/http_small.pcap.zst");
  private List<JsonNode> requests;
  private List<JsonNode> connections;
  private Server server;

  @BeforeAll
  void start() throws Exception {
    requests =
        Cli.run("parse", "--parser", "http_get", "--pcap", capture.toString(), "--json")
            .expectSuccess()
            .json();
    connections =
        Files.readAllLines(Cli.root().resolve("testbed/captures/http_small.jsonl")).stream()
            .map(Cli::parse)
            .toList();
    server = Server.start("--pcap", capture.toString());
  }

  @AfterAll
  void stop() {
    server.close();
  }

  private List<JsonNode> rows(String query) throws Exception {
    // The REST interface needs no JVM per query; other tests use the command line.
    String id = server.post("/api/v1/queries", query).get("id").asText();
    server.awaitState(id, "finished");
    return server.rows(id);
  }

  /** Returns the rows of the last window. */
  private List<JsonNode> last(String query) throws Exception {
    List<JsonNode> rows = rows(query);
    long end = rows.stream().mapToLong(r -> r.get("window_end_ns").asLong()).max().orElseThrow();
    return rows.stream().filter(r -> r.get("window_end_ns").asLong() == end).toList();
  }

  private static Map<String, Double> values(List<JsonNode> rows) {
    Map<String, Double> values = new TreeMap<>();
    rows.forEach(row -> values.put(keyText(row), row.get("value").asDouble()));
    assertThat(values).as("one row per key").hasSameSizeAs(rows);
    return values;
  }

  private static String keyText(JsonNode row) {
    List<String> texts = new ArrayList<>();
    row.get("key").forEach(field -> texts.add(field.asText()));
    return String.join(" ", texts);
  }

  private static Map<String, List<JsonNode>> grouped(Collection<JsonNode> tuples, String field) {
    return tuples.stream()
        .collect(
            Collectors.groupingBy(t -> t.get(field).asText(), TreeMap::new, Collectors.toList()));
  }

  private static Map<String, Double> aggregated(
      Map<String, List<JsonNode>> groups, Function<List<JsonNode>, Double> aggregate) {
    Map<String, Double> values = new TreeMap<>();
    groups.forEach((key, tuples) -> values.put(key, aggregate.apply(tuples)));
    return values;
  }

  private static JsonNode completeness(List<JsonNode> rows) {
    return rows.get(0).get("completeness");
  }

  @Test
  void argumentsOfAParserDecideWhichPacketsMakeTuples() throws Exception {
    String rest = " FROM * TO * LIMIT 9s SAMPLE * PROCESS (group: group=dscp, agg=count)";
    // All packets of the capture have the code point 0; the parser's default is 46.
    assertThat(values(last("PARSE marked_packet(dscp=0)" + rest)))
        .isEqualTo(Map.of("0", (double) PACKETS));
    assertThat(rows("PARSE marked_packet" + rest)).isEmpty();
  }

  @Test
  void limitInPacketsCountsKeptPackets() throws Exception {
    List<JsonNode> rows =
        last(
            "PARSE tcp_pkt_size FROM * TO * LIMIT 100p SAMPLE * PROCESS (group-sum: group=dst_ip, by=packets)");
    assertThat(values(rows)).isEqualTo(Map.of("10.1.0.80", 100.0));
    assertThat(completeness(rows).get("packets_out").asLong()).isEqualTo(100);
  }

  @Test
  void limitInTimeIsPacketTimeFromTheFirstPacket() throws Exception {
    List<JsonNode> rows =
        last("PARSE http_get FROM * TO * LIMIT 1s SAMPLE * PROCESS (group-count: group=method)");
    List<JsonNode> within =
        requests.stream()
            .filter(t -> t.get("time_ns").asLong() < FIRST_PACKET_NS + SECOND_NS)
            .toList();
    assertThat(within).hasSizeBetween(1, requests.size() - 1);
    assertThat(values(rows))
        .isEqualTo(aggregated(grouped(within, "method"), all -> (double) all.size()));
    assertThat(completeness(rows).get("packets_in").asLong()).isBetween(1L, PACKETS - 1);
  }

  @Test
  void sampleKeepsWholeFlowsAndScalesUp() throws Exception {
    List<JsonNode> rows =
        last(
            "PARSE tcp_conn_time FROM * TO * LIMIT 90s SAMPLE 0.5 PROCESS (diff-group: group=src_port)");
    JsonNode completeness = completeness(rows);
    assertThat(completeness.get("sampling_rate").asDouble()).isEqualTo(0.5);
    assertThat(completeness.get("packets_in").asLong()).isEqualTo(PACKETS);
    Map<String, Long> packetsOf = new HashMap<>();
    connections.forEach(
        c -> packetsOf.put(c.get("client_port").asText(), c.get("packets").asLong()));
    long kept = rows.stream().mapToLong(row -> packetsOf.get(keyText(row))).sum();
    assertThat(completeness.get("packets_out").asLong())
        .as("all packets of the kept flows")
        .isEqualTo(kept);
    assertThat(completeness.get("dropped").get("unsampled").asLong())
        .isEqualTo(PACKETS - kept)
        .isPositive();
    assertThat(rows)
        .allSatisfy(
            row -> assertThat(row.get("distribution").get("count").asDouble()).isEqualTo(2.0));
  }

  @Test
  void sampleAutoKeepsAllWithANote() throws Exception {
    String query =
        "PARSE http_get FROM * TO * LIMIT 90s SAMPLE auto PROCESS (group-count: group=method)";
    assertThat(completeness(last(query)).get("sampling_rate").asDouble()).isEqualTo(1.0);
    Cli.Result submitted =
        Cli.run("query", "submit", query, "--server", server.url(), "--wait").expectSuccess();
    assertThat(submitted.stderr()).contains("SAMPLE auto").contains("1.0");
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "FROM 10.1.0.11 TO *          | 10.1.0.11",
        "FROM 10.1.0.12 TO *          | 10.1.0.12",
        "FROM 10.1.0.8/30 TO *        | 10.1.0.11",
        "FROM 10.1.0.11:36266 TO *    | 10.1.0.11",
        "FROM 10.1.0.0/24 TO *:81     | 10.1.0.12",
        "FROM * TO 10.1.0.80          | 10.1.0.11 10.1.0.12",
        "FROM 10.1.0.11 TO *:81, *:80 | 10.1.0.11"
      })
  void fromAndToChooseClientsAndServers(String match, String clients) throws Exception {
    String query =
        "PARSE tcp_conn_time "
            + match
            + " LIMIT 90s SAMPLE * PROCESS (diff-group: group=(src_ip, dst_port))";
    Map<String, Long> distributions = new TreeMap<>();
    last(query)
        .forEach(
            row -> distributions.put(keyText(row), row.get("distribution").get("count").asLong()));
    Map<String, Long> expected =
        connections.stream()
            .filter(c -> List.of(clients.split(" ")).contains(c.get("client").asText()))
            .filter(
                c ->
                    match.contains("*:81")
                        ? match.contains(":" + c.get("server_port").asText())
                        : true)
            .collect(
                Collectors.groupingBy(
                    c -> c.get("client").asText() + " " + c.get("server_port").asText(),
                    TreeMap::new,
                    Collectors.counting()));
    assertThat(distributions).isEqualTo(expected);
  }

  @Test
  void anUnusedAddressMatchesNothing() throws Exception {
    assertThat(
            rows(
                "PARSE http_get FROM * TO 10.1.0.81 LIMIT 90s SAMPLE * PROCESS (group-count: group=method)"))
        .isEmpty();
  }

  @ParameterizedTest
  @CsvSource({"1,1", "2,1", "2,2", "3,1"})
  void windowsHaveTheRequestedLengthAndStep(long seconds, long slideSeconds) throws Exception {
    String query =
        "PARSE http_get FROM * TO * LIMIT 90s SAMPLE * PROCESS (top-k: k=1000, w=%ds, s=%ds)"
            .formatted(seconds, slideSeconds);
    Map<Long, Map<String, Long>> expected = new TreeMap<>();
    for (JsonNode request : requests) {
      long slide = slideSeconds * SECOND_NS;
      long time = request.get("time_ns").asLong();
      for (long end = (time / slide + 1) * slide; end <= time + seconds * SECOND_NS; end += slide) {
        expected
            .computeIfAbsent(end, ignored -> new TreeMap<>())
            .merge(request.get("url").asText(), 1L, Long::sum);
      }
    }
    Map<Long, Map<String, Long>> distributions = new TreeMap<>();
    for (JsonNode row : rows(query)) {
      long end = row.get("window_end_ns").asLong();
      assertThat(end - row.get("window_start_ns").asLong()).isEqualTo(seconds * SECOND_NS);
      distributions
          .computeIfAbsent(end, ignored -> new TreeMap<>())
          .put(keyText(row), row.get("value").asLong());
    }
    assertThat(distributions).isEqualTo(expected);
  }

  @Test
  void kBoundsTheRanking() throws Exception {
    String query = "PARSE http_get FROM * TO * LIMIT 90s SAMPLE * PROCESS (top-k: k=%d, w=1h)";
    List<JsonNode> all = last(query.formatted(1000));
    List<JsonNode> three = last(query.formatted(3));
    assertThat(three).hasSize(3);
    assertThat(three.stream().map(ClausesTest::keyText))
        .isEqualTo(all.stream().limit(3).map(ClausesTest::keyText).toList());
    assertThat(three.stream().map(row -> row.get("rank").asInt())).containsExactly(1, 2, 3);
  }

  @Test
  void byAndOrderRankByValues() throws Exception {
    Map<String, Double> slowest =
        aggregated(
            grouped(requests, "url"),
            tuples ->
                tuples.stream()
                    .mapToDouble(t -> t.get("response_time_ns").asDouble())
                    .max()
                    .orElseThrow());
    Map<String, Double> quickest =
        aggregated(
            grouped(requests, "url"),
            tuples ->
                tuples.stream()
                    .mapToDouble(t -> t.get("response_time_ns").asDouble())
                    .min()
                    .orElseThrow());
    String query =
        "PARSE http_get FROM * TO * LIMIT 90s SAMPLE * PROCESS (top-k: k=5, w=1h, by=response_time_ns, order=%s)";
    assertThat(ranked(last(query.formatted("desc"))))
        .isEqualTo(best(slowest, Comparator.reverseOrder()));
    assertThat(ranked(last(query.formatted("asc"))))
        .isEqualTo(best(quickest, Comparator.naturalOrder()));
  }

  private static List<Double> ranked(List<JsonNode> rows) {
    return rows.stream().map(row -> row.get("value").asDouble()).toList();
  }

  private static List<Double> best(Map<String, Double> values, Comparator<Double> order) {
    return values.values().stream().sorted(order).limit(5).toList();
  }

  @Test
  void keyAndAggChooseTheRanking() throws Exception {
    List<JsonNode> rows =
        last(
            "PARSE http_get FROM * TO * LIMIT 90s SAMPLE * PROCESS (top-k: k=20, w=1h, key=(method, status), by=response_bytes, agg=max)");
    Map<String, Double> expected = new TreeMap<>();
    for (JsonNode request : requests) {
      String key = request.get("method").asText() + " " + request.get("status").asText();
      expected.merge(key, request.get("response_bytes").asDouble(), Math::max);
    }
    assertThat(values(rows)).isEqualTo(expected);
  }

  @ParameterizedTest
  @CsvSource({"sum", "avg", "max", "min", "count"})
  void groupsAggregateAField(String name) throws Exception {
    String operand = name.equals("count") ? "" : ", by=response_bytes";
    List<JsonNode> rows =
        last(
            "PARSE http_get FROM * TO * LIMIT 90s SAMPLE * PROCESS (group-%s: group=method%s)"
                .formatted(name, operand));
    Map<String, Double> expected =
        aggregated(grouped(requests, "method"), tuples -> aggregate(name, tuples));
    Map<String, Double> averages = values(rows);
    assertThat(averages.keySet()).isEqualTo(expected.keySet());
    expected.forEach(
        (key, value) ->
            assertThat(averages.get(key)).as(key).isCloseTo(value, within(1e-9 * value)));
  }

  private static double aggregate(String name, List<JsonNode> tuples) {
    ToLongFunction<JsonNode> bytes = t -> t.get("response_bytes").asLong();
    return switch (name) {
      case "sum" -> tuples.stream().mapToLong(bytes).sum();
      case "avg" -> tuples.stream().mapToLong(bytes).average().orElseThrow();
      case "max" -> tuples.stream().mapToLong(bytes).max().orElseThrow();
      case "min" -> tuples.stream().mapToLong(bytes).min().orElseThrow();
      default -> tuples.size();
    };
  }

  @Test
  void diffGroupAvgIsTheMeanOfEachGroup() throws Exception {
    Map<String, Double> averages =
        values(
            last(
                "PARSE tcp_conn_time FROM * TO * LIMIT 90s SAMPLE * PROCESS (diff-group-avg: group=dst_port)"));
    Map<String, Double> expected =
        aggregated(
            grouped(connections, "server_port"),
            tuples -> tuples.stream().mapToLong(ClausesTest::durationNs).average().orElseThrow());
    assertThat(averages).containsOnlyKeys(expected.keySet());
    expected.forEach(
        (key, mean) -> assertThat(averages.get(key)).as(key).isCloseTo(mean, within(1e-6 * mean)));
  }

  private static long durationNs(JsonNode connection) {
    return connection.get("end_ns").asLong() - connection.get("syn_ns").asLong();
  }

  @Test
  void aSecondParserAddsItsFieldByFlow() throws Exception {
    List<JsonNode> rows =
        last(
            "PARSE tcp_conn_time, http_get FROM * TO * LIMIT 90s SAMPLE * PROCESS (diff-group: group=method)");
    Map<String, List<JsonNode>> byFlow = grouped(requests, "flow_id");
    Map<String, Long> single =
        byFlow.values().stream()
            .filter(tuples -> tuples.size() == 1)
            .collect(
                Collectors.groupingBy(
                    tuples -> tuples.get(0).get("method").asText(),
                    TreeMap::new,
                    Collectors.counting()));
    Map<String, Long> distributions = new TreeMap<>();
    rows.forEach(
        row -> distributions.put(keyText(row), row.get("distribution").get("count").asLong()));
    assertThat(distributions).isEqualTo(single);
    long reused = byFlow.values().stream().filter(tuples -> tuples.size() > 1).count();
    assertThat(completeness(rows).get("reused").asLong()).isEqualTo(reused).isPositive();
  }

  @Test
  void severalProcessorsHaveIndependentResults() throws Exception {
    List<JsonNode> rows =
        rows(
            "PARSE http_get FROM * TO * LIMIT 90s SAMPLE * PROCESS (top-k: k=1, w=1h), (group-count: group=method)");
    assertThat(rows.stream().map(row -> row.get("processor").asText()))
        .contains("top-k", "group-count");
  }

  @Test
  void anInventoryNamesHosts() throws Exception {
    Path inventory = Files.createTempFile("tapline-test-", ".yaml");
    Files.writeString(inventory, "hosts:\n  web: 10.1.0.80\n  first: 10.1.0.11\n");
    Cli.Result result =
        Cli.run(
            "run",
            "PARSE tcp_conn_time FROM first TO web:80 LIMIT 90s SAMPLE * PROCESS (diff-group: group=(src_ip, dst_ip))",
            "--pcap",
            capture.toString(),
            "--inventory",
            inventory.toString());
    Files.delete(inventory);
    assertThat(result.expectSuccess().stdout())
        .containsPattern("first 10.1.0.11 +web 10.1.0.80 +1 ")
        .contains("completeness: 6 packets in");
  }
}
