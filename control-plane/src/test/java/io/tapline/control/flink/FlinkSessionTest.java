package io.tapline.control.flink;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.tapline.control.testing.Await;
import java.net.URI;
import java.nio.file.Path;
import java.time.Duration;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.apache.flink.api.common.JobID;
import org.apache.flink.runtime.execution.Environment;
import org.apache.flink.runtime.highavailability.nonha.embedded.HaLeadershipControl;
import org.apache.flink.runtime.jobgraph.JobGraph;
import org.apache.flink.runtime.jobgraph.JobGraphBuilder;
import org.apache.flink.runtime.jobgraph.JobVertex;
import org.apache.flink.runtime.jobgraph.tasks.AbstractInvokable;
import org.apache.flink.runtime.minicluster.MiniCluster;
import org.apache.flink.runtime.minicluster.MiniClusterConfiguration;
import org.junit.jupiter.api.Test;

/** Tests a session with the REST interface of a real job manager. */
class FlinkSessionTest {
  private static final Duration TIMEOUT = Duration.ofSeconds(90);

  /** A task that idles until it is cancelled. */
  public static final class Idle extends AbstractInvokable {
    public Idle(Environment environment) {
      super(environment);
    }

    @Override
    public void invoke() throws InterruptedException {
      Thread.sleep(Long.MAX_VALUE);
    }
  }

  private static JobID submit(MiniCluster cluster) throws Exception {
    JobVertex vertex = new JobVertex("idle");
    vertex.setInvokableClass(Idle.class);
    vertex.setParallelism(1);
    JobGraph job = JobGraphBuilder.newStreamingJobGraphBuilder().addJobVertex(vertex).build();
    cluster.submitJob(job).get(TIMEOUT.toSeconds(), TimeUnit.SECONDS);
    return job.getJobID();
  }

  @Test
  void aJobWithoutASlotIsReportedUntilItHasOne() throws Exception {
    MiniClusterConfiguration oneSlot =
        new MiniClusterConfiguration.Builder()
            .setNumTaskManagers(1)
            .setNumSlotsPerTaskManager(1)
            .withRandomPorts()
            .build();
    try (MiniCluster cluster = new MiniCluster(oneSlot)) {
      cluster.start();
      URI address = cluster.getRestAddress().get(TIMEOUT.toSeconds(), TimeUnit.SECONDS);
      JobID first = submit(cluster);
      Await.until(
          "the first job has its slot", TIMEOUT, () -> state(address, first).contains("RUNNING"));
      JobID second = submit(cluster);
      try (FlinkSession session =
          new FlinkSession(address, new FlinkRest(address), Path.of("no.jar"), "")) {
        session.watchJobs();
        assertThat(session.resume(first)).isTrue();
        assertThat(session.resume(second)).isTrue();
        Await.until(
            "the second job reports that it is waiting",
            TIMEOUT,
            () -> session.hindrance(second).contains("no free slot"));
        assertThat(session.hindrance(first)).isEmpty();
        cluster.cancelJob(first).get(TIMEOUT.toSeconds(), TimeUnit.SECONDS);
        Await.until(
            "the second job works", TIMEOUT, () -> state(address, second).contains("RUNNING"));
        Await.until("nothing is wrong", TIMEOUT, () -> session.hindrance(second).isEmpty());
      }
    }
  }

  @Test
  void cannotCheckJobsWithoutALeader() throws Exception {
    MiniClusterConfiguration led =
        new MiniClusterConfiguration.Builder()
            .withRandomPorts()
            .setHaServices(MiniCluster.HaServices.WITH_LEADERSHIP_CONTROL)
            .build();
    try (MiniCluster cluster = new MiniCluster(led)) {
      cluster.start();
      URI address = cluster.getRestAddress().get(TIMEOUT.toSeconds(), TimeUnit.SECONDS);
      HaLeadershipControl lead = cluster.getHaLeadershipControl().orElseThrow();
      lead.revokeDispatcherLeadership().get(TIMEOUT.toSeconds(), TimeUnit.SECONDS);
      JobID job = new JobID();
      Await.until(
          "no dispatcher leads",
          TIMEOUT,
          () -> new FlinkRest(address).get("/jobs/" + job.toHexString()).status() == 503);
      try (FlinkSession session =
          new FlinkSession(address, new FlinkRest(address), Path.of("no.jar"), "")) {
        CompletableFuture<Boolean> known = new CompletableFuture<>();
        new Thread(() -> complete(known, () -> session.resume(job))).start();
        assertThatThrownBy(() -> known.get(2, TimeUnit.SECONDS))
            .as("the outcome is open")
            .isInstanceOf(TimeoutException.class);
        lead.grantDispatcherLeadership();
        assertThat(known.get(TIMEOUT.toSeconds(), TimeUnit.SECONDS)).isFalse();
      }
    }
  }

  private static <T> void complete(CompletableFuture<T> result, Callable<T> work) {
    try {
      result.complete(work.call());
    } catch (Exception e) {
      result.completeExceptionally(e);
    }
  }

  /** Returns the state of the job's only vertex. */
  private static String state(URI cluster, JobID job) throws Exception {
    return new FlinkRest(cluster)
        .get("/jobs/" + job.toHexString())
        .body()
        .at("/vertices/0/status")
        .asText();
  }
}
