package io.tapline.control.embedded;

import io.tapline.control.query.services.JobCluster;
import io.tapline.flink.Endpoints;
import io.tapline.flink.JobOptions;
import io.tapline.flink.job.QueryJob;
import io.tapline.schema.proto.Plan;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.apache.flink.api.common.JobID;
import org.apache.flink.api.common.JobStatus;
import org.apache.flink.configuration.BlobServerOptions;
import org.apache.flink.configuration.CheckpointingOptions;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.configuration.CoreOptions;
import org.apache.flink.configuration.JobManagerOptions;
import org.apache.flink.configuration.MemorySize;
import org.apache.flink.configuration.ResourceManagerOptions;
import org.apache.flink.configuration.RestOptions;
import org.apache.flink.configuration.TaskManagerOptions;
import org.apache.flink.configuration.WebOptions;
import org.apache.flink.runtime.jobmaster.JobResult;
import org.apache.flink.runtime.minicluster.MiniCluster;
import org.apache.flink.runtime.minicluster.MiniClusterConfiguration;
import org.apache.flink.streaming.api.graph.StreamGraph;

/**
 * A Flink session cluster within this process, unreachable from outside. Jobs can be submitted
 * while it starts.
 */
public final class EmbeddedFlink implements JobCluster {
  /** Slots in addition to one per query: an ended job may keep its slot for a moment. */
  private static final int SPARE_SLOTS = 4;

  /**
   * Network memory per slot: a job has two shuffles between single subtasks, with ten buffers of 32
   * KiB at each end.
   */
  private static final int NETWORK_MIB_PER_SLOT = 2;

  private static final long STEP_SECONDS = 60;
  private static final String FILES = "flink";

  private final CompletableFuture<MiniCluster> cluster;
  private final Path folder;

  private EmbeddedFlink(CompletableFuture<MiniCluster> cluster, Path folder) {
    this.cluster = cluster;
    this.folder = folder;
  }

  /** Starts a cluster; returns when it is running. */
  static EmbeddedFlink start(Path folder, int maxQueries) throws IOException {
    return new EmbeddedFlink(
        CompletableFuture.completedFuture(startCluster(folder, maxQueries)), folder);
  }

  /**
   * Returns a cluster that is still starting.
   *
   * @param cluster completes with {@link #startCluster}'s result
   */
  static EmbeddedFlink starting(CompletableFuture<MiniCluster> cluster, Path folder) {
    return new EmbeddedFlink(cluster, folder);
  }

  /** Starts only the underlying cluster, for {@link #starting}. */
  static MiniCluster startCluster(Path folder, int maxQueries) throws IOException {
    int slots = maxQueries + SPARE_SLOTS;
    MiniCluster cluster =
        new ClosedMiniCluster(
            new MiniClusterConfiguration.Builder()
                .setConfiguration(settings(folder, slots))
                .setNumTaskManagers(1)
                .setNumSlotsPerTaskManager(slots)
                .setCommonBindAddress("127.0.0.1")
                .withRandomPorts()
                .build());
    try {
      Files.createDirectories(folder.resolve(FILES));
      cluster.start();
    } catch (Exception | OutOfMemoryError e) {
      // Network buffers are usually the first allocation to fail when memory is short.
      throw new IOException("can't start the embedded Flink cluster: " + e.getMessage(), e);
    }
    return cluster;
  }

  private static Configuration settings(Path folder, int slots) {
    Configuration settings = new Configuration();
    String files = folder.resolve(FILES).toString();
    settings.set(CoreOptions.TMP_DIRS, files);
    // The default is the folder of the first pipeline in this process.
    settings.set(WebOptions.TMP_DIR, files);
    MemorySize network = MemorySize.ofMebiBytes((long) slots * NETWORK_MIB_PER_SLOT);
    settings.set(TaskManagerOptions.NETWORK_MEMORY_MIN, network);
    settings.set(TaskManagerOptions.NETWORK_MEMORY_MAX, network);
    settings.set(TaskManagerOptions.MANAGED_MEMORY_SIZE, MemorySize.ofMebiBytes(16));
    // This matters only until both servers are closed.
    settings.set(RestOptions.ADDRESS, "127.0.0.1");
    settings.set(RestOptions.BIND_ADDRESS, "127.0.0.1");
    settings.set(JobManagerOptions.BIND_HOST, "127.0.0.1");
    settings.set(BlobServerOptions.OFFLOAD_MINSIZE, Integer.MAX_VALUE);
    // Keeps only the latest jobs' graphs, until their results are read; otherwise a server would
    // keep the graph of every query that it ever ran.
    settings.set(JobManagerOptions.JOB_STORE_MAX_CAPACITY, 4);
    settings.set(CheckpointingOptions.MAX_RETAINED_CHECKPOINTS, 1);
    // Skips a delay of 50 ms: a job requests one slot, once, and there is nothing to batch.
    settings.set(ResourceManagerOptions.REQUIREMENTS_CHECK_DELAY, Duration.ZERO);
    settings.set(ResourceManagerOptions.DECLARE_NEEDED_RESOURCE_DELAY, Duration.ZERO);
    return settings;
  }

  @Override
  public void submit(Plan plan, Endpoints endpoints, JobOptions options, JobID id)
      throws IOException {
    prepare(plan, endpoints, options, id).submit();
  }

  @Override
  public Submission prepare(Plan plan, Endpoints endpoints, JobOptions options, JobID id) {
    StreamGraph graph = QueryJob.graph(plan, endpoints, options, id);
    return () -> await(cluster().submitJob(graph), "submit the job");
  }

  /** Returns the cluster once it has started. */
  private MiniCluster cluster() throws IOException {
    try {
      return cluster.join();
    } catch (CompletionException e) {
      throw e.getCause() instanceof IOException known
          ? known
          : new IOException(
              "can't start the embedded Flink cluster: " + e.getCause().getMessage(), e);
    }
  }

  @Override
  public boolean endsWithProcess() {
    return true;
  }

  @Override
  public CompletableFuture<JobEnd> end(JobID id) {
    return cluster
        .thenCompose(started -> started.requestJobResult(id))
        .thenApply(EmbeddedFlink::end);
  }

  private static JobEnd end(JobResult result) {
    if (result.getJobStatus().orElse(null) == JobStatus.FINISHED) {
      return JobEnd.success();
    }
    Throwable cause =
        result
            .getSerializedThrowable()
            .map(serialized -> serialized.deserializeError(EmbeddedFlink.class.getClassLoader()))
            .orElse(null);
    while (cause != null && cause.getCause() != null) {
      cause = cause.getCause();
    }
    return new JobEnd(cause == null ? "no reason given" : cause.getMessage(), cause);
  }

  /** Returns a folder, since checkpoints in the job manager's memory are limited to a few MiB. */
  @Override
  public String checkpoints() {
    return folder.resolve("checkpoints").toUri().toString();
  }

  @Override
  public void cancel(JobID id) {
    cluster
        .thenCompose(started -> started.cancelJob(id))
        .exceptionally(ended -> null)
        .orTimeout(STEP_SECONDS, TimeUnit.SECONDS)
        .join();
  }

  private static <T> T await(CompletableFuture<T> future, String action) throws IOException {
    try {
      return future.get(STEP_SECONDS, TimeUnit.SECONDS);
    } catch (ExecutionException e) {
      throw new IOException(
          "Flink could not " + action + ": " + e.getCause().getMessage(), e.getCause());
    } catch (TimeoutException e) {
      throw new IOException(
          "Flink could not "
              + action
              + " within "
              + Duration.ofSeconds(STEP_SECONDS).toSeconds()
              + " s",
          e);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new IOException("interrupted while asking Flink to " + action, e);
    }
  }

  @Override
  public String address() {
    return "";
  }

  @Override
  public boolean isRunning() {
    return cluster.isDone() && !cluster.isCompletedExceptionally() && cluster.join().isRunning();
  }

  /** Closes the cluster, after waiting for a start in progress. */
  @Override
  public void close() {
    cluster
        .thenCompose(MiniCluster::closeAsync)
        .orTimeout(STEP_SECONDS, TimeUnit.SECONDS)
        .exceptionally(ignored -> null)
        .join();
  }
}
