package io.tapline.e2e;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Collectors;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.io.TempDir;

/**
 * Tests queries with AT over captures of a real queue with three flows (made by
 * parsers/queue_flows/captures/make.py), and compares them with the monitor's tuples. The inventory
 * numbers the port to h2: taps and queries may use the number or the neighbour's name.
 */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
class QueuesTest {
  private static final String PARSE = "PARSE queue_flows(delay=0s, share=0) ";
  private static final String PROCESS =
      " SAMPLE * PROCESS (group-sum: group=src_port, by=bytes, w=10s)";

  @TempDir static Path folder;

  private final Path captures = Cli.root().resolve("parsers/queue_flows/captures");
  private Path inventory;
  private Map<String, Long> bytes;
  private Server server;

  @BeforeAll
  void start() throws Exception {
    inventory = folder.resolve("inventory.yaml");
    Files.writeString(
        inventory, "network: {switches: {s1: [h1, h2]}, ports: {s1: {h1: 1, h2: 2}}}\n");
    List<JsonNode> tuples =
        Cli.run(with("s1:2", "parse", "--parser", "queue_depth", "--json")).expectSuccess().json();
    assertThat(tuples).allMatch(tuple -> tuple.get("queue").asText().equals("s1:2"));
    long left = tuples.stream().mapToLong(tuple -> tuple.get("bytes").asLong()).sum();
    server = Server.start(with("s1:h2"));
    bytes = sums("FROM * TO * AT s1:2");
    assertThat(bytes.keySet()).containsExactly("40001", "40002", "40003");
    assertThat(bytes.values().stream().mapToLong(Long::longValue).sum()).isEqualTo(left);
  }

  @AfterAll
  void stop() {
    if (server != null) {
      server.close();
    }
  }

  /** Returns these words with the inventory, and with the captures as taps of a queue. */
  private String[] with(String queue, String... words) {
    List<String> all = new ArrayList<>(List.of(words));
    all.addAll(List.of("--inventory", inventory.toString()));
    for (String side : List.of("arrivals", "departures")) {
      all.add("--tap");
      all.add(queue + ":" + side + "=" + captures.resolve("queue-" + side + ".pcap.zst"));
    }
    return all.toArray(String[]::new);
  }

  private Map<String, Long> sums(String clauses) throws Exception {
    String id = server.post("/api/v1/queries", PARSE + clauses + PROCESS).get("id").asText();
    server.awaitState(id, "finished");
    return sums(server.rows(id));
  }

  private static Map<String, Long> sums(List<JsonNode> rows) {
    return rows.stream()
        .collect(
            Collectors.toMap(
                row -> row.get("key").get("src_port").asText(),
                row -> row.get("value").asLong(),
                Long::sum,
                TreeMap::new));
  }

  @Test
  void fromAndToChooseTheFlowsThatAreReported() throws Exception {
    Map<String, Long> one = Map.of("40003", bytes.get("40003"));
    assertThat(sums("FROM 10.99.1.0/24:40003 TO * AT s1:h2")).isEqualTo(one);
    assertThat(sums("FROM * TO 10.99.1.2:40003 AT S1:2")).isEqualTo(one);
    assertThat(sums("FROM * TO 10.99.1.2:40003")).isEqualTo(one);
    assertThat(sums("FROM 10.99.3.0/24 TO * AT s1:2")).isEmpty();
  }

  @Test
  void aQueueWithoutTapsIsAnErrorAtItsPlace() throws Exception {
    String query = PARSE + "FROM * TO * AT s1:2, s1:h1" + PROCESS;
    Cli.Result result = Cli.run("query", "submit", query, "--server", server.url());
    assertThat(result.exitCode()).isNotZero();
    assertThat(result.stderr())
        .contains("s1:1 has no taps")
        .contains("--tap s1:1:arrivals=SOURCE and --tap s1:1:departures=SOURCE")
        .contains("with both taps: s1:2");
  }

  @Test
  void aTapAtAPortThatDoesNotExistIsRefused() {
    Cli.Result refusedResult = Cli.run(with("s1:h3", "parse", "--parser", "queue_depth"));
    assertThat(refusedResult.exitCode()).isEqualTo(2);
    assertThat(refusedResult.stderr())
        .contains("s1 has no link to 'h3'; expected a port of s1: 1 (h1), 2 (h2)");
  }

  @Test
  void aOneShotRunMeasuresTheQueue() {
    String query = PARSE + "FROM * TO * AT s1:h2" + PROCESS;
    List<JsonNode> rows = Cli.run(with("s1:2", "run", query, "--json")).expectSuccess().json();
    assertThat(sums(rows)).isEqualTo(bytes);
  }
}
