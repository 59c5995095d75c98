package io.tapline.control.query;

import io.tapline.flink.Endpoints;
import io.tapline.flink.JobOptions;
import io.tapline.schema.proto.Plan;
import java.io.IOException;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.apache.flink.api.common.JobID;

/** A Flink cluster that runs queries' jobs. Thread-safe. */
public interface JobCluster extends AutoCloseable {
  /** Starts a plan's job; returns when the cluster has it. */
  void submit(Plan plan, Endpoints endpoints, JobOptions options, JobID id) throws IOException;

  /**
   * Does what can be done of a submission before the cluster and the query's topic are there.
   *
   * @return what is left to do
   */
  default Submission prepare(Plan plan, Endpoints endpoints, JobOptions options, JobID id) {
    return () -> submit(plan, endpoints, options, id);
  }

  /** A job that is about to be submitted. */
  interface Submission {
    /** Returns when the cluster has the job. */
    void submit() throws IOException;
  }

  /** Whether jobs live no longer than this process. */
  default boolean endsWithProcess() {
    return false;
  }

  /**
   * Looks after a job that an earlier process of ours submitted, as if it had been submitted here.
   *
   * @return false if the cluster knows of no such job
   */
  default boolean resume(JobID id) throws IOException {
    return false;
  }

  /** Completes when the job has ended, however it did. REQUIRES: it was submitted; asked once. */
  CompletableFuture<JobEnd> end(JobID id);

  /** Cancels a job that still runs; nothing happens if it has ended. */
  void cancel(JobID id);

  /** What keeps a job from working at the moment, for people; empty if nothing is known to. */
  default String hindrance(JobID id) {
    return "";
  }

  boolean isRunning();

  /** By which plans name it. */
  String address();

  /** Who runs the tasks of jobs at the moment, as far as that can be asked. */
  default List<TaskManager> taskManagers() throws IOException {
    return List.of();
  }

  /**
   * A task manager.
   *
   * @param id its {@code taskmanager.resource-id}
   * @param host its address
   */
  record TaskManager(String id, String host, int freeSlots) {}

  /** URI of a folder for checkpoints; empty for the job manager's memory. */
  String checkpoints();

  @Override
  void close();

  /**
   * How a job ended.
   *
   * @param failure why it did not do what it should; null if it has
   * @param cause of the failure, where it is known
   */
  record JobEnd(String failure, Throwable cause) {
    public static JobEnd success() {
      return new JobEnd(null, null);
    }
  }
}
