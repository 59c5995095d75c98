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
 * Compares queries with AT, over captures of a real queue with three flows (made by
 * parsers/queue_flows/captures/make.py), with the monitor's tuples.
 */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
class QueuesTest {
  private static final String PARSE = "PARSE queue_flows(delay=0s, share=0) ";
  private static final String PROCESS =
      " SAMPLE * PROCESS (group-sum: group=src_port, by=bytes, w=10s)";

  private final Path captures = Cli.root().resolve("parsers/queue_flows/captures");
  private final String[] taps = {
    "--tap",
    "s1:2:arrivals=" + captures.resolve("queue-arrivals.pcap.zst"),
    "--tap",
    "s1:2:departures=" + captures.resolve("queue-departures.pcap.zst")
  };
  private Map<String, Long> bytes;
  private Server server;

  @BeforeAll
  void start() throws Exception {
    List<String> parse = new ArrayList<>(List.of("parse", "--parser", "queue_depth"));
    parse.addAll(List.of(taps));
    parse.add("--json");
    long left =
        Cli.run(parse.toArray(String[]::new)).expectSuccess().json().stream()
            .mapToLong(tuple -> tuple.get("bytes").asLong())
            .sum();
    server = Server.start(taps);
    bytes = sums("FROM * TO * AT s1:2");
    assertThat(bytes.keySet()).containsExactly("40001", "40002", "40003");
    assertThat(bytes.values().stream().mapToLong(Long::longValue).sum()).isEqualTo(left);
  }

  @AfterAll
  void stop() {
    server.close();
  }

  private Map<String, Long> sums(String clauses) throws Exception {
    String id = server.post("/api/v1/queries", PARSE + clauses + PROCESS).get("id").asText();
    server.awaitState(id, "finished");
    return server.rows(id).stream()
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
    assertThat(sums("FROM 10.99.1.0/24:40003 TO * AT s1:2")).isEqualTo(one);
    assertThat(sums("FROM * TO 10.99.1.2:40003")).isEqualTo(one);
    assertThat(sums("FROM 10.99.3.0/24 TO * AT s1:2")).isEmpty();
  }

  @Test
  void aQueueWithoutTapsIsAnErrorAtItsPlace() throws Exception {
    String query = PARSE + "FROM * TO * AT s1:2, s1:3" + PROCESS;
    List<String> run = new ArrayList<>(List.of("query", "submit", query));
    run.addAll(List.of("--server", server.url()));
    Cli.Result result = Cli.run(run.toArray(String[]::new));
    assertThat(result.exitCode()).isNotZero();
    assertThat(result.stderr())
        .contains("s1:3 has no taps")
        .contains("--tap s1:3:arrivals=SOURCE and --tap s1:3:departures=SOURCE")
        .contains("with both taps: s1:2");
  }

  /**
   * Tests an inventory that numbers the port to h2: taps and queries may use the number or the
   * neighbor's name.
   */
  @Test
  void portsAreNamedByNeighbour(@TempDir Path folder) throws Exception {
    Path inventory = folder.resolve("inventory.yaml");
    Files.writeString(
        inventory, "network: {switches: {s1: [h1, h2]}, ports: {s1: {h1: 1, h2: 2}}}\n");
    List<String> named = new ArrayList<>();
    for (String argument : taps) {
      named.add(argument.replace("s1:2:", "s1:h2:"));
    }
    named.addAll(List.of("--inventory", inventory.toString(), "--json"));
    for (String queue : List.of("s1:h2", "S1:2")) {
      List<String> run =
          new ArrayList<>(List.of("run", PARSE + "FROM * TO *:40003 AT " + queue + PROCESS));
      run.addAll(named);
      List<JsonNode> rows = Cli.run(run.toArray(String[]::new)).expectSuccess().json();
      assertThat(rows.stream().mapToLong(row -> row.get("value").asLong()).sum())
          .isEqualTo(bytes.get("40003"));
    }
    List<String> parse = new ArrayList<>(List.of("parse", "--parser", "queue_depth"));
    parse.addAll(named);
    assertThat(Cli.run(parse.toArray(String[]::new)).expectSuccess().json())
        .isNotEmpty()
        .allMatch(tuple -> tuple.get("queue").asText().equals("s1:2"));
    parse.replaceAll(argument -> argument.replace("s1:h2:", "s1:h3:"));
    Cli.Result refusedResult = Cli.run(parse.toArray(String[]::new));
    assertThat(refusedResult.exitCode()).isEqualTo(2);
    assertThat(refusedResult.stderr())
        .contains("s1 has no link to 'h3'; expected a port of s1: 1 (h1), 2 (h2)");
  }

  @Test
  void aOneShotRunMeasuresTheQueue() throws Exception {
    List<String> run = new ArrayList<>(List.of("run", PARSE + "FROM * TO * AT s1:2" + PROCESS));
    run.addAll(List.of(taps));
    run.add("--json");
    List<JsonNode> rows = Cli.run(run.toArray(String[]::new)).expectSuccess().json();
    assertThat(rows).isNotEmpty();
    long sum = rows.stream().mapToLong(row -> row.get("value").asLong()).sum();
    assertThat(sum).isEqualTo(bytes.values().stream().mapToLong(Long::longValue).sum());
  }
}
