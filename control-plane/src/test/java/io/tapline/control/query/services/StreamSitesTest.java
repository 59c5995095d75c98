package io.tapline.control.query.services;

import static org.assertj.core.api.Assertions.assertThat;

import io.tapline.compiler.Inventory;
import io.tapline.compiler.network.NetworkSection;
import io.tapline.control.embedded.EmbeddedKafka;
import io.tapline.control.query.services.JobCluster.TaskManager;
import io.tapline.flink.Endpoints;
import io.tapline.flink.JobOptions;
import io.tapline.network.Network;
import io.tapline.schema.proto.Monitor;
import io.tapline.schema.proto.Plan;
import io.tapline.schema.proto.Stream;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import org.apache.flink.api.common.JobID;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Tests the locations of brokers and task managers, with a real broker. */
class StreamSitesTest {
  private static final String YAML =
      """
      hosts: {here: 127.0.0.1, web: 10.0.1.1, db: 10.0.2.1}
      network:
        switches: {leaf1: [here, web], leaf2: [db], spine: []}
        links: [[leaf1, spine], [leaf2, spine]]
      """;
  private static final Optional<Network> NETWORK =
      NetworkSection.fromYaml(YAML, Inventory.fromYaml(YAML));
  private static final Plan PLAN =
      Plan.newBuilder().setQuery("q").addMonitors(Monitor.newBuilder().setHost("web")).build();

  @TempDir Path folder;

  /** Provides the task managers. */
  private interface Sites {
    List<TaskManager> get() throws IOException;
  }

  private record Cluster(String address, Sites sites) implements JobCluster {
    @Override
    public List<TaskManager> taskManagers() throws IOException {
      return sites.get();
    }

    @Override
    public void submit(Plan plan, Endpoints endpoints, JobOptions options, JobID id) {
      throw new UnsupportedOperationException();
    }

    @Override
    public CompletableFuture<JobEnd> end(JobID id) {
      throw new UnsupportedOperationException();
    }

    @Override
    public void cancel(JobID id) {
      throw new UnsupportedOperationException();
    }

    @Override
    public boolean isRunning() {
      return true;
    }

    @Override
    public String checkpoints() {
      return "";
    }

    @Override
    public void close() {
      // There is no open connection.
    }
  }

  private static Cluster cluster(String address, TaskManager... managers) {
    return new Cluster(address, () -> List.of(managers));
  }

  private Stream choose(Optional<Network> network, Cluster... clusters) throws Exception {
    JobClusters all = new JobClusters(List.of(clusters));
    try (EmbeddedKafka kafka = EmbeddedKafka.start(folder, "", reason -> {});
        Topics topics = new Topics(kafka.endpoint(), KafkaAccess.withoutLogins(kafka.endpoint()));
        StreamSites sites = new StreamSites(network, topics, all)) {
      return sites.choose(PLAN);
    }
  }

  @Test
  void servicesAreOnTheConfiguredHostsOrThoseOfTheirAddress() throws Exception {
    Cluster named = cluster("named", new TaskManager("db", "192.0.2.1", 1));
    Cluster addressed = cluster("addressed", new TaskManager("tm-1", "10.0.1.1", 1));
    Stream stream = choose(NETWORK, named, addressed);
    assertThat(stream.getCluster()).isEqualTo("addressed");
    assertThat(stream.getHostsList()).containsExactly("web");
    assertThat(stream.getLeaders(0).getHost()).as("at 127.0.0.1").isEqualTo("here");
    assertThat(choose(NETWORK, named).getHostsList()).containsExactly("db");
  }

  @Test
  void nothingIsChosenWithoutANetwork() throws Exception {
    Stream none = choose(Optional.empty(), cluster("one", new TaskManager("db", "", 1)));
    assertThat(none).isEqualTo(Stream.getDefaultInstance());
  }

  @Test
  void unreachableServicesAreLeftOut() throws Exception {
    CountDownLatch never = new CountDownLatch(1);
    Cluster silentCluster =
        new Cluster(
            "silent",
            () -> {
              try {
                never.await();
              } catch (InterruptedException e) {
                throw new IOException(e);
              }
              return List.of(new TaskManager("web", "", 9));
            });
    Cluster brokenCluster =
        new Cluster(
            "broken",
            () -> {
              throw new IOException("no leader");
            });
    Cluster far = cluster("far", new TaskManager("db", "", 1));
    assertThat(choose(NETWORK, silentCluster, brokenCluster, far).getCluster()).isEqualTo("far");
    assertThat(choose(NETWORK, silentCluster).getCluster())
        .as("no choice: the first cluster gets the job")
        .isEmpty();
  }
}
