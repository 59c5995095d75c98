package io.tapline.e2e;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.Function;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * Tests that the {@code texts} section of the inventory applies to the server's parsers in every
 * query, from the monitor to the results.
 */
class TextPolicyTest {
  private static final String QUERY =
      "PARSE http_get%s FROM * TO * LIMIT 90s SAMPLE * PROCESS (top-k: k=1000, w=1h)";

  @TempDir Path folder;

  private final Path capture = Cli.root().resolve("testbed/captures/http_small.pcap.zst");

  @Test
  void hashedTextsLeaveTheMonitorOnlyAsHashes() throws Exception {
    Path inventory = folder.resolve("inventory.yaml");
    Files.writeString(inventory, "texts:\n  http_get:\n    url: hash\n");
    Map<String, Long> urls =
        Cli.run("parse", "--parser", "http_get", "--pcap", capture.toString(), "--json")
            .expectSuccess()
            .json()
            .stream()
            .map(request -> request.get("url").asText())
            .collect(Collectors.groupingBy(Function.identity(), Collectors.counting()));
    assertThat(urls).hasSizeGreaterThan(10);
    try (Server server =
        Server.start("--pcap", capture.toString(), "--inventory", inventory.toString())) {
      Map<String, Long> result = ranking(server, QUERY.formatted(""));
      assertThat(result.keySet()).allMatch(url -> url.matches("[0-9a-f]{16}"));
      assertThat(result.values()).containsExactlyInAnyOrderElementsOf(urls.values());
      Cli.Result path =
          Cli.run("query", "submit", QUERY.formatted("(url=path)"), "--server", server.url());
      assertThat(path.exitCode()).isNotZero();
      assertThat(path.stderr()).contains("url of http_get may not leave the monitor as path");
    }
  }

  /** Returns the counts by URL in the last window. */
  private static Map<String, Long> ranking(Server server, String query) throws Exception {
    String id = server.submit(query);
    server.awaitState(id, "finished");
    List<JsonNode> rows =
        Cli.run("query", "results", id, "--server", server.url(), "--json").expectSuccess().json();
    long end =
        rows.stream().mapToLong(row -> row.get("window_end_ns").asLong()).max().orElseThrow();
    Map<String, Long> counts = new TreeMap<>();
    rows.stream()
        .filter(row -> row.get("window_end_ns").asLong() == end)
        .forEach(
            row ->
                counts.put(row.get("key").iterator().next().asText(), row.get("value").asLong()));
    return counts;
  }
}
