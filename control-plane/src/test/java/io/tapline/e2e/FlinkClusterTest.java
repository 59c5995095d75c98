package io.tapline.e2e;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Queries on a Flink session cluster of processes that were there before. */
class FlinkClusterTest {
  private static final String QUERY =
      "PARSE http_get, tcp_conn_time FROM * TO *:80 LIMIT 90s SAMPLE *"
          + " PROCESS (top-k: k=5, w=10s), (diff-group: group=get)";

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
      assertThat(own.stdout().replaceAll(QUERY_ID, "")).isNotEmpty();
      assertThat(own.stdout().replaceAll(QUERY_ID, ""))
          .isEqualTo(embedded.stdout().replaceAll(QUERY_ID, ""));
      assertThat(cluster.get("/jobs/overview")).contains("\"state\":\"FINISHED\"");
      assertThat(cluster.get("/jars")).contains("\"files\":[]");
    }
    try (Stream<Path> left = Files.list(checkpoints)) {
      assertThat(left).isEmpty();
    }
  }

  private static final String QUERY_ID = "\"query\":\"[^\"]*\",";
}
