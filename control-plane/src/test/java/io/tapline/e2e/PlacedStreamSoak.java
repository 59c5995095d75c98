package io.tapline.e2e;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import io.tapline.control.embedded.EmbeddedServices;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * Runs queries at two ends of the fat tree, with three brokers and two Flink clusters. Each query's
 * job, and the leader of its topic, must run at the query's end of the tree, as {@code explain}
 * predicts.
 */
class PlacedStreamSoak {
  private static final String NEAR = "h-0-0-1";
  private static final String FAR = "h-3-1-0";
  private static final String FAR_ADDRESS = "10.3.1.2";
  private static final String BETWEEN = "h-2-0-0";

  @TempDir Path folder;

  private final List<AutoCloseable> open = new ArrayList<>();
  private MirroredNetwork network;
  private KafkaCluster kafka;
  private FlinkCluster near;
  private FlinkCluster far;

  @BeforeEach
  void start() throws Exception {
    network =
        MirroredNetwork.upWith(
            Set.of(NEAR, FAR),
            address -> {
              kafka = opened(new KafkaCluster(made("kafka"), address, List.of(BETWEEN, NEAR, FAR)));
              near = opened(new FlinkCluster(made("near"), NEAR));
              far = opened(new FlinkCluster(made("far"), FAR));
              EmbeddedServices redis = opened(EmbeddedServices.startOpen(""));
              String redisAddress = redis.endpoints().redis().address();
              List<String> services =
                  List.of("--brokers", kafka.brokers(), "--redis", redisAddress);
              List<String> options = new ArrayList<>(services);
              options.addAll(List.of("--flink", near.url(), "--flink", far.url()));
              return options;
            });
  }

  private Path made(String name) throws Exception {
    return Files.createDirectory(folder.resolve(name));
  }

  private <T extends AutoCloseable> T opened(T part) {
    open.add(part);
    return part;
  }

  @AfterEach
  void stop() throws Exception {
    if (network != null) {
      network.close();
    }
    for (int i = open.size() - 1; i >= 0; i--) {
      open.get(i).close();
    }
  }

  @Test
  void topicsAreLedAndJobsRunWhereTheirQueriesMonitorsAre() throws Exception {
    open.add(Requests.serve(network.fabric, NEAR, MirroredNetwork.H3_ADDRESS, 80));
    open.add(Requests.serve(network.fabric, FAR, FAR_ADDRESS, 80));
    String there = runs(MirroredNetwork.H3_ADDRESS, NEAR, near);
    String elsewhere = runs(FAR_ADDRESS, FAR, far);
    assertThat(jobs(near)).as("one each").hasSize(1).isNotEqualTo(jobs(far));
    assertThat(jobs(far)).hasSize(1);
    counts(there, MirroredNetwork.H3_ADDRESS);
    counts(elsewhere, FAR_ADDRESS);
    network.stop(there);
    network.stop(elsewhere);
    Fabric.await("no job is left", () -> jobs(near).isEmpty() && jobs(far).isEmpty());
  }

  /**
   * Submits a query for a server's requests. The query's stream must be placed at the given host,
   * as {@code explain} predicts.
   */
  private String runs(String server, String host, FlinkCluster cluster) throws Exception {
    String text = OverlappingQueries.COUNT.formatted("*", server + ":80");
    JsonNode explained = network.explain(text);
    String id = network.submit(text);
    network.server().awaitState(id, "running");
    JsonNode plan = network.get("/queries/" + id).path("plan");
    assertThat(plan.path("monitors")).hasSize(1);
    assertThat(plan.path("monitors").path(0).path("host").asText()).isEqualTo(host);
    assertThat(plan.path("stream")).isEqualTo(explained.path("plan").path("stream"));
    assertThat(plan.path("stream").path("cluster").asText()).isEqualTo(cluster.url());
    assertThat(plan.path("stream").path("hosts").toString()).isEqualTo("[\"" + host + "\"]");
    assertThat(explained.path("text").asText()).contains("on " + host + "\n");
    List<List<String>> replicas = kafka.replicas(plan.path("topic").asText());
    assertThat(replicas).hasSize(1);
    assertThat(replicas.get(0)).as("two replicas, the first leads").hasSize(2).startsWith(host);
    System.out.printf("Placed: %s at %s, %s%n", id, host, plan.path("stream"));
    return id;
  }

  private void counts(String query, String server) throws Exception {
    Requests client = network.requests("h-1-1-1", server, 80, "placed", 50);
    Set<String> requested = new TreeSet<>();
    client.await().forEach(request -> requested.add(request.url()));
    assertThat(requested).hasSize(50);
    Fabric.await("all are counted", () -> network.counted(query).keySet().equals(requested));
    assertThat(network.counted(query).values()).containsOnly(1L);
  }

  /** Returns the IDs of running jobs. */
  private static Set<String> jobs(FlinkCluster cluster) throws Exception {
    Set<String> ids = new TreeSet<>();
    for (JsonNode job : Cli.parse(cluster.get("/jobs")).path("jobs")) {
      if (job.path("status").asText().equals("RUNNING")) {
        ids.add(job.path("id").asText());
      }
    }
    return ids;
  }
}
