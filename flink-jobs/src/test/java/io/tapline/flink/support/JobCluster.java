package io.tapline.flink.support;

import com.fasterxml.jackson.databind.ObjectMapper;
import io.tapline.flink.Endpoints;
import io.tapline.flink.JobOptions;
import io.tapline.flink.job.QueryJob;
import io.tapline.schema.proto.Plan;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.apache.flink.api.common.JobID;
import org.apache.flink.runtime.checkpoint.CheckpointStatsCounts;
import org.apache.flink.runtime.jobgraph.SavepointRestoreSettings;
import org.apache.flink.runtime.jobmaster.JobResult;
import org.apache.flink.runtime.minicluster.MiniCluster;
import org.apache.flink.runtime.minicluster.MiniClusterConfiguration;
import org.apache.flink.streaming.api.graph.StreamGraph;
import redis.clients.jedis.Jedis;

/**
 * A Flink mini cluster with a real broker and a real Redis server, which runs the jobs of tests.
 */
public final class JobCluster implements AutoCloseable {
  public final EmbeddedKafka kafka;
  public final RedisServer redis;
  public final MiniCluster cluster;

  public JobCluster(Path directory) throws Exception {
    kafka = new EmbeddedKafka(directory.resolve("kafka"));
    redis = new RedisServer();
    cluster =
        new MiniCluster(
            new MiniClusterConfiguration.Builder()
                .setNumTaskManagers(1)
                .setNumSlotsPerTaskManager(4)
                .withRandomPorts()
                .build());
    cluster.start();
  }

  @Override
  public void close() throws Exception {
    cluster.close();
    redis.close();
    kafka.close();
  }

  /** Cancels all jobs, which frees the slots of a failed test for the next test. */
  public void cancelAll() throws Exception {
    for (var job : cluster.listJobs().get()) {
      if (!job.getJobState().isGloballyTerminalState()) {
        cluster.cancelJob(job.getJobId()).get();
        cluster.requestJobResult(job.getJobId()).get(30, TimeUnit.SECONDS);
      }
    }
  }

  /** Creates the plan's topic and sends all monitors' records. */
  public void send(Plan plan, Workload workload) throws Exception {
    // The topic has one partition more than there are monitors; the job must not wait for it.
    kafka.createTopic(plan.getTopic(), workload.partitions.size() + 1);
    for (int partition = 0; partition < workload.partitions.size(); partition++) {
      send(plan, partition, workload.partitions.get(partition));
    }
  }

  /** Sends the records of one partition. */
  public void send(Plan plan, int partition, List<byte[]> records) throws Exception {
    for (byte[] record : records) {
      kafka.send(plan.getTopic(), partition, record);
    }
  }

  /** Starts a job; returns its ID. */
  public JobID submit(Plan plan, JobOptions options) throws Exception {
    return submit(plan, options, SavepointRestoreSettings.none());
  }

  /** Starts a job from a savepoint. */
  public JobID submit(Plan plan, JobOptions options, SavepointRestoreSettings restored)
      throws Exception {
    JobID id = JobID.generate();
    Endpoints endpoints = Endpoints.open(kafka.brokers(), "127.0.0.1:" + redis.port());
    StreamGraph graph = QueryJob.graph(plan, endpoints, options, id);
    graph.setSavepointRestoreSettings(restored);
    cluster.submitJob(graph).get();
    return id;
  }

  /** Starts a job with different endpoints. */
  public JobID submit(Plan plan, Endpoints endpoints) throws Exception {
    JobID id = JobID.generate();
    cluster.submitJob(QueryJob.graph(plan, endpoints, JobOptions.defaults(), id)).get();
    return id;
  }

  /** Waits for the end of a job; fails if the job fails. */
  public void await(JobID id) throws Exception {
    JobResult result = cluster.requestJobResult(id).get(90, TimeUnit.SECONDS);
    result.toJobExecutionResult(getClass().getClassLoader());
  }

  /** Waits until a query has this number of windows. */
  public void awaitWindows(Plan plan, int windows) throws Exception {
    try (Jedis jedis = redis.client()) {
      String key = "tapline:query:" + plan.getQuery() + ":windows";
      Deadline.await("the first windows", () -> jedis.xlen(key) >= windows);
    }
  }

  /**
   * Waits for a checkpoint that began after this call and therefore contains everything that the
   * job read before the call.
   */
  public void awaitCheckpoint(JobID id) throws Exception {
    long previousCompletedCheckpoints = completedCheckpoints(id);
    Deadline.await(
        "a checkpoint", () -> completedCheckpoints(id) >= previousCompletedCheckpoints + 2);
  }

  private long completedCheckpoints(JobID id) throws Exception {
    return checkpointCounts(id).getNumberOfCompletedCheckpoints();
  }

  /** Returns the number of times that a job was restored from a checkpoint. */
  public long restoredCheckpoints(JobID id) throws Exception {
    return checkpointCounts(id).getNumberOfRestoredCheckpoints();
  }

  private CheckpointStatsCounts checkpointCounts(JobID id) throws Exception {
    return cluster.getExecutionGraph(id).get().getCheckpointStatsSnapshot().getCounts();
  }

  /** Returns a query's totals by name. */
  public Map<String, String> totals(Plan plan) {
    try (Jedis jedis = redis.client()) {
      return jedis.hgetAll("tapline:query:" + plan.getQuery() + ":totals");
    }
  }

  /** Returns the number of items that a query dropped for a reason. */
  public long dropped(Plan plan, String reason) throws Exception {
    return new ObjectMapper().readTree(totals(plan).get("dropped")).path(reason).asLong();
  }
}
