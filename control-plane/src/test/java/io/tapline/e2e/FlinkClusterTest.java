package io.tapline.e2e;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Tests queries on an existing Flink session cluster of separate processes. */
class FlinkClusterTest {
  private static final String QUERY =
      "PARSE http_get FROM * TO *:80 LIMIT 90s SAMPLE *"
          + " PROCESS (top-k: k=5, w=10s), (top-k: k=3, w=4s, s=2s)";

  @TempDir Path temporary;

  @Test
  void aQueryHasTheSameRowsAsEmbeddedAndLeavesNothingInTheCluster() throws Exception {
    Path folder = Files.createDirectory(temporary.resolve("flink"));
    Path checkpoints = Files.createDirectory(temporary.resolve("checkpoints"));
    String capture = Cli.root().resolve("testbed/captures/http_small.pcap.zst").toString();
    Cli.Result embedded = Cli.run("run", QUERY, "--pcap", capture, "--json").expectSuccess();
    try (FlinkCluster cluster = new FlinkCluster(folder)) {
      Cli.Result own =
          Cli.run(
                  "run",
                  QUERY,
                  "--pcap",
                  capture,
                  "--json",
                  "--flink",
                  cluster.url(),
                  "--flink-checkpoints",
                  checkpoints.toUri().toString())
              .expectSuccess();
      assertThat(rows(own)).isNotEmpty().isEqualTo(rows(embedded));
      assertThat(cluster.get("/jobs/overview")).contains("\"state\":\"FINISHED\"");
      assertThat(cluster.get("/jars")).contains("\"files\":[]");
    }
    try (Stream<Path> left = Files.list(checkpoints)) {
      assertThat(left).isEmpty();
    }
  }

  /**
   * Tests a job manager that has no jars, as after a restart. The test deletes the jar, which has
   * the same effect.
   */
  @Test
  void aJarThatTheClusterHasLostIsUploadedAgain() throws Exception {
    Path folder = Files.createDirectory(temporary.resolve("flink"));
    String capture = Cli.root().resolve("testbed/captures/http_small.pcap.zst").toString();
    try (FlinkCluster cluster = new FlinkCluster(folder);
        Server server = Server.start("--pcap", capture, "--flink", cluster.url())) {
      JsonNode jars = Cli.parse(cluster.get("/jars")).get("files");
      assertThat(jars).hasSize(1);
      cluster.delete("/jars/" + jars.get(0).get("id").asText());
      assertThat(cluster.get("/jars")).contains("\"files\":[]");
      server.awaitState(server.submit(QUERY), "finished");
    }
  }

  /**
   * Returns the rows without the query's ID, and without {@code completeness}, which depends on the
   * monitor's batch sizes.
   */
  private static List<JsonNode> rows(Cli.Result result) {
    List<JsonNode> rows = result.json();
    rows.forEach(row -> ((ObjectNode) row).remove(List.of("query", "completeness")));
    return rows;
  }
}
