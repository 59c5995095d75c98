package io.tapline.control.query.services;

import io.tapline.flink.Endpoints;
import io.tapline.flink.JobOptions;
import io.tapline.schema.proto.Plan;
import java.io.IOException;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.apache.flink.api.common.JobID;

/** A Flink cluster that runs queries' jobs. Thread-safe. */
public interface JobCluster extends AutoCloseable {
  /** Starts a plan's job; returns when the cluster has accepted it. */
  void submit(Plan plan, Endpoints endpoints, JobOptions options, JobID id) throws IOException;

  /**
   * Does the part of a submission that needs neither the cluster nor the query's topic.
   *
   * @return the rest of the submission
   */
  default Submission prepare(Plan plan, Endpoints endpoints, JobOptions options, JobID id) {
    return () -> submit(plan, endpoints, options, id);
  }

  /** A job that is ready to be submitted. */
  interface Submission {
    /** Submits the job; returns when the cluster has accepted it. */
    void submit() throws IOException;
  }

  /** Returns true if jobs end with this process. */
  default boolean endsWithProcess() {
    return false;
  }

  /**
   * Takes over a job that an earlier control plane submitted, as if this one had submitted it.
   *
   * @return false if the cluster does not know the job
   */
  default boolean resume(JobID id) throws IOException {
    return false;
  }

  /**
   * Completes when the job has ended, for any reason. REQUIRES: the job was submitted; called once
   * per job.
   */
  CompletableFuture<JobEnd> end(JobID id);

  /** Cancels a running job; does nothing if it has ended. */
  void cancel(JobID id);

  /**
   * Returns a user-facing description of the problem that currently keeps a job from working; empty
   * if none is known.
   */
  default String hindrance(JobID id) {
    return "";
  }

  boolean isRunning();

  /** Returns the address by which plans name the cluster. */
  String address();

  /** Returns the cluster's task managers; empty if they are not known. */
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

  /** Returns the URI of a folder for checkpoints; empty for the job manager's memory. */
  String checkpoints();

  @Override
  void close();

  /**
   * The end of a job.
   *
   * @param failure reason of the failure; null if it succeeded
   * @param cause cause of the failure, if known
   */
  record JobEnd(String failure, Throwable cause) {
    public static JobEnd success() {
      return new JobEnd(null, null);
    }
  }
}
