package io.tapline.control.query;

import io.tapline.control.PipelineException;
import io.tapline.control.PipelineException.Kind;
import io.tapline.control.ProgressListener;
import io.tapline.control.query.monitors.QueryMonitor;
import io.tapline.control.query.sampling.SamplingWatch;
import io.tapline.control.query.services.Backend;
import io.tapline.control.query.services.JobCluster;
import io.tapline.control.query.services.JobCluster.JobEnd;
import io.tapline.control.query.services.RedisAccess;
import io.tapline.control.query.services.TopicKeeper;
import io.tapline.control.query.services.TopicRights;
import io.tapline.control.query.services.Topics;
import io.tapline.flink.Endpoints;
import io.tapline.flink.JobOptions;
import io.tapline.schema.proto.Leader;
import io.tapline.schema.proto.Monitor;
import io.tapline.schema.proto.Plan;
import io.tapline.schema.proto.Sampling;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Comparator;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.Supplier;
import java.util.stream.Stream;
import org.apache.flink.api.common.JobID;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import redis.clients.jedis.exceptions.JedisException;

/**
 * One query's run, from its topic to its last window, in this order: topic, job, monitor; the end
 * comes from the monitor, through the topic, to the job. Whatever happens, {@link #run} leaves no
 * topic, job, user or monitor of this query behind.
 */
final class QueryRun {
  private static final Logger LOG = LoggerFactory.getLogger(QueryRun.class);

  /** How long a monitor may take to flush after it was asked to end. */
  private static final long FLUSH_SECONDS = 10;

  /** How long a job that has received everything may make no progress. */
  private static final long STALL_SECONDS = 60;

  private static final long CANCEL_SECONDS = 20;

  /**
   * Monitors of interfaces send something several times a second; monitors of captures may stay
   * silent.
   */
  private static final Duration SILENCE = Duration.ofSeconds(30);

  private final Plan plan;
  private final Backend backend;
  private final JobCluster cluster;
  private final TopicKeeper topics;
  private final boolean live;
  private final Launcher launcher;
  private final ProgressListener progress;
  private final Hooks hooks;
  private final JobID job;
  private final boolean resumed;
  private final Duration checkpointInterval;
  private final TopicRights.Users users;

  /** Completes exceptionally when an event outside the run makes it pointless. */
  private final CompletableFuture<Void> aborted = new CompletableFuture<>();

  private CompletableFuture<JobCluster.Submission> submission =
      CompletableFuture.completedFuture(null);
  private CompletableFuture<JobEnd> jobEnd;
  private QueryMonitor monitor;
  private SamplingWatch sampling;
  private boolean stopRequested;
  private volatile boolean detached;

  /**
   * The run's view of its surroundings.
   *
   * @param steps records the run's steps before they become visible
   * @param redis creates the job's user
   * @param onRunning called when packets are seen, and again after a part has moved to another host
   * @param results changes as long as the job makes progress
   * @param taken records that the job has read, and the tuples in them
   */
  record Hooks(
      Steps steps,
      RedisAccess redis,
      Runnable onRunning,
      Supplier<Object> results,
      Supplier<long[]> taken) {}

  /** Records the steps of a run. */
  interface Steps {
    /** Topic and job exist. */
    void placed() throws IOException;

    /** The run has ended except for the cleanup. */
    void ending(QueryState state, String error);
  }

  /**
   * Identifies a run.
   *
   * @param job ID of the stream job
   * @param resumed whether an earlier control plane started it
   * @param checkpointInterval checkpoint interval of the job
   * @param users Kafka users of its topic
   */
  record Identity(
      JobID job, boolean resumed, Duration checkpointInterval, TopicRights.Users users) {}

  /** Assigns a monitor to the query; calls {@code onReady} once it is capturing. */
  interface Launcher {
    QueryMonitor launch(Runnable onReady) throws IOException;
  }

  QueryRun(
      Plan plan,
      Backend backend,
      TopicKeeper topics,
      boolean live,
      Launcher launcher,
      ProgressListener progress,
      Hooks hooks,
      Identity identity) {
    this.job = identity.job();
    this.resumed = identity.resumed();
    this.checkpointInterval = identity.checkpointInterval();
    this.users = identity.users();
    this.plan = plan;
    this.backend = backend;
    this.cluster = backend.flink().of(plan);
    this.topics = topics;
    this.live = live;
    this.launcher = launcher;
    this.progress = progress;
    this.hooks = hooks;
  }

  /**
   * Runs the query to its end.
   *
   * @return FINISHED, or STOPPED if {@link #stop} was called
   */
  QueryState run() throws PipelineException {
    try {
      QueryState end = runToEnd();
      hooks.steps().ending(end, "");
      return end;
    } catch (PipelineException e) {
      hooks.steps().ending(QueryState.FAILED, e.getMessage());
      throw e;
    } finally {
      try (ProgressListener.Phase cleaning = progress.phase("remove the topic")) {
        cleanUp();
      }
    }
  }

  private QueryState runToEnd() throws PipelineException {
    try {
      if (resumed) {
        topics.resume(topic());
        resumeJob();
      } else {
        submission = background(this::prepareJob);
        try (ProgressListener.Phase creating = progress.phase("create the topic")) {
          topics.create(topic());
        }
        // The topic keeps a whole capture, so the job may start later.
        if (!live && !startMonitor()) {
          return QueryState.STOPPED;
        }
        submitJob();
      }
      hooks.steps().placed();
      if ((live || resumed) && !startMonitor()) {
        return QueryState.STOPPED;
      }
      awaitEnd();
      return stopped() ? QueryState.STOPPED : QueryState.FINISHED;
    } catch (IOException e) {
      throw new PipelineException(Kind.RESOURCES, e.getMessage(), e);
    } catch (IllegalArgumentException e) {
      throw new PipelineException(Kind.INTERNAL, e.getMessage(), e);
    }
  }

  private void resumeJob() throws IOException {
    grantRedis();
    if (!cluster.resume(job)) {
      preparedJob().submit();
    }
    jobEnd = cluster.end(job);
  }

  private JobCluster.Submission prepareJob() throws IOException {
    try (ProgressListener.Phase preparing = progress.phase("prepare the job")) {
      grantRedis();
      return preparedJob();
    }
  }

  private JobCluster.Submission preparedJob() {
    Endpoints own = backend.jobEndpoints(plan.getQuery(), hooks.redis().login(plan.getQuery()));
    return cluster.prepare(plan, own, options(), job);
  }

  private void submitJob() throws IOException, PipelineException {
    try (ProgressListener.Phase submitting = progress.phase("submit the job")) {
      submission.join().submit();
      jobEnd = cluster.end(job);
      ProgressListener.Phase running = progress.phase("run the job");
      jobEnd.whenComplete((end, error) -> running.close());
    } catch (CompletionException e) {
      if (e.getCause() instanceof IOException known) {
        throw known;
      }
      if (e.getCause() instanceof IllegalArgumentException fault) {
        throw fault;
      }
      throw new PipelineException(
          Kind.INTERNAL, "the job can't be prepared: " + e.getCause(), e.getCause());
    }
  }

  private interface Work<T> {
    T run() throws IOException;
  }

  private static <T> CompletableFuture<T> background(Work<T> work) {
    CompletableFuture<T> result = new CompletableFuture<>();
    Thread thread =
        new Thread(
            () -> {
              try {
                result.complete(work.run());
              } catch (Throwable e) {
                // Catches errors, too: the query waits for this thread.
                result.completeExceptionally(e);
              }
            },
            "query-job");
    thread.setDaemon(true);
    thread.start();
    return result;
  }

  private void grantRedis() throws IOException {
    try {
      hooks.redis().grant(plan.getQuery());
    } catch (JedisException e) {
      if (!resumed) {
        throw new IOException("Redis makes no user for the stream job: " + e.getMessage(), e);
      }
      LOG.warn("Redis makes no user for the job of {} yet: {}", plan.getQuery(), e.getMessage());
    }
  }

  /** Removes what an ended run left behind, if anything. */
  void cleanUpAfter() throws PipelineException {
    try {
      if (cluster.resume(job)) {
        jobEnd = cluster.end(job);
      }
    } catch (IOException e) {
      throw new PipelineException(Kind.RESOURCES, e.getMessage(), e);
    } finally {
      cleanUp();
    }
  }

  /** Leaves everything as it is for another control plane; nothing is cleaned up from now on. */
  void detach() {
    detached = true;
  }

  private JobOptions options() {
    // A job that ends with this process and reads a topic that keeps everything needs no
    // checkpoints: it starts over.
    boolean checkpointed = live || !cluster.endsWithProcess();
    return JobOptions.defaults()
        .withCheckpoints(checkpointed ? checkpointInterval : Duration.ZERO, checkpoints())
        .withSilentAfter(live ? SILENCE : Duration.ZERO);
  }

  private String checkpoints() {
    String all = cluster.checkpoints();
    return all.isEmpty() ? "" : all.replaceFirst("/*$", "/") + job.toHexString();
  }

  private Topics.Wanted topic() {
    return new Topics.Wanted(plan.getTopic(), partitions(), live, leaders(), users);
  }

  private List<Integer> leaders() {
    return plan.getStream().getLeadersList().stream().map(Leader::getBroker).toList();
  }

  private int partitions() {
    return 1 + plan.getMonitorsList().stream().mapToInt(Monitor::getPartition).max().orElse(0);
  }

  private synchronized boolean startMonitor() throws IOException {
    if (stopRequested && !resumed) {
      return false;
    }
    monitor = launcher.launch(hooks.onRunning());
    if (stopRequested) {
      // A query that an earlier control plane started has already seen packets.
      monitor.stop();
      stopSoon();
    } else if (plan.getSampling().getMode() == Sampling.Mode.AUTO) {
      double allowed = plan.getSampling().getRate() > 0 ? plan.getSampling().getRate() : 1;
      sampling =
          new SamplingWatch(plan.getQuery(), allowed, this::progressOfJob, monitor::limit).start();
    }
    return true;
  }

  /** See {@link QueryMonitor#onMirrored}. */
  synchronized Runnable onMirrored() {
    return monitor == null ? () -> {} : monitor.onMirrored();
  }

  private SamplingWatch.State progressOfJob() throws PipelineException {
    long written = topics.written(plan.getTopic());
    long[] taken = hooks.taken().get();
    return new SamplingWatch.State(written, taken[0], taken[1]);
  }

  /** Asks the run to end early with the results so far. Idempotent. */
  synchronized void stop() {
    if (stopRequested) {
      return;
    }
    stopRequested = true;
    if (monitor != null) {
      monitor.stop();
      stopSoon();
    }
  }

  /** Stops the monitor, which has nothing more to do, and kills it if it does not end in time. */
  private void stopSoon() {
    CompletableFuture.delayedExecutor(FLUSH_SECONDS, TimeUnit.SECONDS).execute(monitor::kill);
  }

  /** Returns why no results arrive at the moment, if that is known; else empty. */
  String hindrance() {
    return cluster.hindrance(job);
  }

  /** Fails the run because something that it depends on is gone. */
  void abort(String reason) {
    aborted.completeExceptionally(new PipelineException(Kind.RESOURCES, reason));
  }

  private synchronized boolean stopped() {
    return stopRequested;
  }

  private void awaitEnd() throws PipelineException {
    try {
      CompletableFuture.anyOf(aborted, monitor.end(), jobEnd).join();
      if (jobEnd.isDone() && !monitor.end().isDone()) {
        requireSuccess(jobEnd.join());
        stopSoon();
      }
      CompletableFuture.anyOf(aborted, monitor.end()).join();
      progress.progress("computing results", Double.NaN, 0, 0);
      requireSuccess(awaitJob());
    } catch (CompletionException | ExecutionException e) {
      if (monitor.killed()) {
        LOG.warn("the monitor of {} ended without sending its last tuples", plan.getQuery());
        return;
      }
      throw e.getCause() instanceof PipelineException known
          ? known
          : new PipelineException(Kind.INTERNAL, "the query failed: " + e.getCause(), e.getCause());
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new PipelineException(Kind.INTERNAL, "interrupted", e);
    }
  }

  /** Waits for the job, which has received all its input, as long as its results change. */
  private JobEnd awaitJob() throws ExecutionException, InterruptedException, PipelineException {
    CompletableFuture<Object> end = CompletableFuture.anyOf(aborted, jobEnd);
    Object results = hooks.results().get();
    while (true) {
      try {
        end.get(STALL_SECONDS, TimeUnit.SECONDS);
        return jobEnd.join();
      } catch (TimeoutException stalled) {
        Object now = hooks.results().get();
        if (now.equals(results)) {
          throw new PipelineException(
              Kind.INTERNAL,
              "the monitor ended, but its job made no progress for " + STALL_SECONDS + " s",
              stalled);
        }
        results = now;
      }
    }
  }

  private static void requireSuccess(JobEnd end) throws PipelineException {
    if (end.failure() != null) {
      throw new PipelineException(
          Kind.INTERNAL, "the stream job failed: " + end.failure(), end.cause());
    }
  }

  /** Logs what can't be cleaned up: that does not change how the query ended. */
  private void cleanUp() {
    if (detached) {
      return;
    }
    if (sampling != null) {
      sampling.close();
    }
    if (monitor != null) {
      monitor.kill();
    }
    if (jobEnd != null && !jobEnd.isDone()) {
      cancelJob();
    }
    // The submission may be about to create the user that is removed next.
    submission.handle((prepared, error) -> prepared).join();
    hooks.redis().revoke(plan.getQuery());
    try {
      topics.retire(plan.getTopic());
    } catch (PipelineException e) {
      LOG.warn("cleaning up after {}: {}", plan.getQuery(), e.getMessage());
    }
    deleteCheckpoints();
  }

  /**
   * Flink removes the checkpoints of an ended job, but not their folders. Checkpoints in other
   * storage than files stay, as do files that this host can't see.
   */
  private void deleteCheckpoints() {
    if (!checkpoints().startsWith("file:")) {
      return;
    }
    try (Stream<Path> files = Files.walk(Path.of(URI.create(checkpoints())))) {
      for (Path file : files.sorted(Comparator.reverseOrder()).toList()) {
        Files.deleteIfExists(file);
      }
    } catch (NoSuchFileException e) {
      LOG.debug("{} had no checkpoint", plan.getQuery());
    } catch (IOException | UncheckedIOException e) {
      LOG.warn("cleaning up checkpoints of {}: {}", plan.getQuery(), e.toString());
    }
  }

  private void cancelJob() {
    cluster.cancel(job);
    try {
      jobEnd.get(CANCEL_SECONDS, TimeUnit.SECONDS);
    } catch (ExecutionException | TimeoutException e) {
      LOG.warn("the job of {} does not end: {}", plan.getQuery(), e.toString());
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }
}
