package io.tapline.control.testing;

import io.tapline.control.query.services.JobCluster;
import io.tapline.control.query.services.JobClusters;
import io.tapline.flink.Endpoints;
import io.tapline.flink.JobOptions;
import io.tapline.schema.proto.Plan;
import java.io.IOException;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.apache.flink.api.common.JobID;

/** A Flink cluster that does not answer. */
public final class NoFlink implements JobCluster {
  /** Returns job clusters that consist of only this one. */
  public static JobClusters alone() {
    return new JobClusters(List.of(new NoFlink()));
  }

  @Override
  public void submit(Plan plan, Endpoints endpoints, JobOptions options, JobID id)
      throws IOException {
    throw new IOException("Flink is not available here");
  }

  @Override
  public CompletableFuture<JobEnd> end(JobID id) {
    throw new IllegalStateException("no job " + id + " was submitted");
  }

  @Override
  public void cancel(JobID id) {}

  @Override
  public boolean isRunning() {
    return false;
  }

  @Override
  public String address() {
    return "";
  }

  @Override
  public String checkpoints() {
    return "";
  }

  @Override
  public void close() {}
}
