package io.tapline.control.query.services;

import io.tapline.flink.Endpoints;
import io.tapline.flink.JobOptions;
import io.tapline.schema.proto.Plan;
import java.io.IOException;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.apache.flink.api.common.JobID;

/** One or more Flink clusters that run queries' jobs, each close to some hosts. Thread-safe. */
public final class JobClusters implements AutoCloseable {
  private final List<JobCluster> clusters;

  public JobClusters(List<? extends JobCluster> clusters) {
    this.clusters = List.copyOf(clusters);
  }

  List<JobCluster> all() {
    return clusters;
  }

  /**
   * Returns the cluster whose address a plan names, or the first one if it names none. If that
   * cluster is no longer configured, the returned one accepts no jobs.
   */
  public JobCluster of(Plan plan) {
    String address = plan.getStream().getCluster();
    return clusters.stream()
        .filter(cluster -> address.isEmpty() || cluster.address().equals(address))
        .findFirst()
        .orElseGet(() -> new UnknownCluster(address));
  }

  /** Returns what is wrong with the clusters; empty if nothing is. */
  public String fault() {
    List<JobCluster> silentClusters =
        clusters.stream().filter(cluster -> !cluster.isRunning()).toList();
    if (silentClusters.isEmpty()) {
      return "";
    }
    String which =
        clusters.size() == 1
            ? ""
            : String.join(", ", silentClusters.stream().map(JobCluster::address).toList()) + " ";
    return which + (silentClusters.size() == 1 ? "does not answer" : "do not answer");
  }

  @Override
  public void close() {
    clusters.forEach(JobCluster::close);
  }

  /**
   * Closes the connections to clusters that outlive this process. REQUIRES: the process is about to
   * exit.
   */
  public void abandon() {
    clusters.stream().filter(cluster -> !cluster.endsWithProcess()).forEach(JobCluster::close);
  }

  /** A cluster that an earlier process's plan names and that is no longer configured. */
  private record UnknownCluster(String address) implements JobCluster {
    @Override
    public void submit(Plan plan, Endpoints endpoints, JobOptions options, JobID id)
        throws IOException {
      throw new IOException(
          "the query's job runs on Flink at %s, which --flink no longer lists".formatted(address));
    }

    @Override
    public CompletableFuture<JobEnd> end(JobID id) {
      return CompletableFuture.completedFuture(JobEnd.success());
    }

    @Override
    public void cancel(JobID id) {
      // No cluster runs the job.
    }

    @Override
    public boolean isRunning() {
      return false;
    }

    @Override
    public String checkpoints() {
      return "";
    }

    @Override
    public void close() {
      // There is nothing to close.
    }
  }
}
