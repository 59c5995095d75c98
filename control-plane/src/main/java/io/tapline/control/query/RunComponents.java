package io.tapline.control.query;

import io.tapline.control.PipelineException;
import io.tapline.control.PipelineException.Kind;
import io.tapline.control.ProgressListener;
import io.tapline.control.query.monitors.Source;
import io.tapline.control.query.sampling.SamplingWatch;
import io.tapline.control.query.services.Backend;
import io.tapline.control.query.services.JobCluster;
import io.tapline.control.query.services.JobCluster.JobEnd;
import io.tapline.control.query.services.RedisAccess;
import io.tapline.control.query.services.TopicRights;
import io.tapline.control.query.services.Topics;
import io.tapline.flink.Endpoints;
import io.tapline.flink.JobOptions;
import io.tapline.schema.proto.Action;
import io.tapline.schema.proto.Leader;
import io.tapline.schema.proto.Monitor;
import io.tapline.schema.proto.Plan;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Comparator;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.apache.flink.api.common.JobID;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import redis.clients.jedis.exceptions.JedisException;

/**
 * A query's resources in the services: its topic, its stream job, the job's Redis user, and the
 * job's checkpoints. Confined to the query's own thread, except for {@link #progress} and {@link
 * #hindrance}.
 */
final class RunComponents {
  private static final Logger LOG = LoggerFactory.getLogger(RunComponents.class);

  /** Maximum time without progress for a job that has received all its input. */
  private static final long STALL_SECONDS = 60;

  private static final long CANCEL_SECONDS = 20;

  /**
   * Time after which the job treats a live query's monitor as silent. Such a monitor normally sends
   * something several times a second. A monitor that reads a capture may be silent for any time.
   */
  private static final Duration SILENCE = Duration.ofSeconds(30);

  /** Number of running queries below which jobs are checkpointed every second. */
  private static final int QUERIES_PER_CHECKPOINT = 12;

  private static final int MAX_CHECKPOINT_INTERVALS = 30;

  private final QueryEnvironment environment;
  private final Plan plan;
  private final Query.Start start;
  private final ProgressListener progress;
  private final JobID job;
  private final JobCluster cluster;
  private final Duration checkpointInterval;
  private final TopicRights.Users users;
  private CompletableFuture<JobCluster.Submission> submission =
      CompletableFuture.completedFuture(null);
  private CompletableFuture<JobEnd> jobEnd;

  RunComponents(
      QueryEnvironment environment,
      QueryRecord record,
      Query.Start start,
      ProgressListener progress) {
    this.environment = environment;
    this.plan = record.plan();
    this.start = start;
    this.progress = progress;
    this.job = JobID.fromHexString(record.job());
    this.cluster = environment.backend().flink().of(plan);
    this.checkpointInterval = checkpointInterval(environment.running().getAsInt());
    this.users =
        new TopicRights.Users(
            monitorUsers(record.hosts(), start.source(), environment.backend()), alertTopics(plan));
  }

  /**
   * Returns the users that the query's monitors have at Kafka: the names of their hosts, or, for
   * monitors without a host login, the user that this process passes to them. Empty if it passes
   * none.
   */
  private static Set<String> monitorUsers(Set<String> hosts, Source source, Backend backend) {
    boolean byName = !source.local() || backend.access().hostKey().isPresent();
    return source.hosts().isPresent() && byName
        ? hosts
        : backend.access().monitors().stream()
            .map(monitor -> monitor.login().user())
            .collect(Collectors.toSet());
  }

  /** Returns the topics to which the job writes the alerts of the query's triggers. */
  private static Set<String> alertTopics(Plan plan) {
    return plan.getProcessorsList().stream()
        .flatMap(processor -> processor.getTrigger().getActionsList().stream())
        .map(Action::getTopic)
        .filter(TopicRights::mayTakeAlerts)
        .collect(Collectors.toSet());
  }

  /**
   * Returns a job's checkpoint interval. The cost of a checkpoint does not depend on the job's
   * load: a hundred jobs with one checkpoint per second would take half a core. The interval grows
   * with the square of the number of queries, up to 30 seconds, which keeps up to a hundred jobs
   * together below twenty checkpoints a second. With a longer interval, more records are reread
   * after a failure.
   */
  static Duration checkpointInterval(int queries) {
    int dozens = 1 + queries / QUERIES_PER_CHECKPOINT;
    int intervals = Math.min(dozens * dozens, MAX_CHECKPOINT_INTERVALS);
    return JobOptions.defaults().checkpointInterval().multipliedBy(intervals);
  }

  /** Creates the topic, and prepares the job at the same time. */
  void create() throws PipelineException {
    submission = background(this::prepareJob);
    try (ProgressListener.Phase creating = progress.phase("create the topic")) {
      environment.topics().create(topic());
    }
  }

  /** Submits the job. REQUIRES: {@link #create} was called. */
  void submitJob() throws IOException, PipelineException {
    try (ProgressListener.Phase submitting = progress.phase("submit the job")) {
      submission.join().submit();
      jobEnd = cluster.end(job);
      ProgressListener.Phase running = progress.phase("run the job");
      jobEnd.whenComplete((end, error) -> running.close());
    } catch (CompletionException e) {
      if (e.getCause() instanceof IOException knownException) {
        throw knownException;
      }
      if (e.getCause() instanceof IllegalArgumentException fault) {
        throw fault;
      }
      throw new PipelineException(
          Kind.INTERNAL, "can't prepare the job: " + e.getCause(), e.getCause());
    }
  }

  /** Takes over the resources that an earlier control plane created; creates missing ones. */
  void resume() throws IOException, PipelineException {
    environment.topics().resume(topic());
    grantRedis();
    if (!cluster.resume(job)) {
      preparedJob().submit();
    }
    jobEnd = cluster.end(job);
  }

  /** Finds the job, if it is still running. */
  void findJob() throws IOException {
    if (cluster.resume(job)) {
      jobEnd = cluster.end(job);
    }
  }

  private JobCluster.Submission prepareJob() throws IOException {
    try (ProgressListener.Phase preparing = progress.phase("prepare the job")) {
      grantRedis();
      return preparedJob();
    }
  }

  private JobCluster.Submission preparedJob() {
    Endpoints own =
        environment.backend().jobEndpoints(plan.getQuery(), redis().login(plan.getQuery()));
    return cluster.prepare(plan, own, options(), job);
  }

  private RedisAccess redis() {
    return environment.store().access();
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
      redis().grant(plan.getQuery());
    } catch (JedisException e) {
      if (!start.resumed()) {
        throw new IOException("can't create the stream job's user in Redis: " + e.getMessage(), e);
      }
      LOG.warn(
          "can't create the user for the job of {} in Redis yet: {}",
          plan.getQuery(),
          e.getMessage());
    }
  }

  private JobOptions options() {
    boolean isLive = start.source().live();
    // A job that ends with this process and reads a topic that keeps everything needs no
    // checkpoints, since it would start over.
    boolean checkpointed = isLive || !cluster.endsWithProcess();
    return JobOptions.defaults()
        .withCheckpoints(checkpointed ? checkpointInterval : Duration.ZERO, checkpoints())
        .withSilentAfter(isLive ? SILENCE : Duration.ZERO);
  }

  private String checkpoints() {
    String all = cluster.checkpoints();
    return all.isEmpty() ? "" : all.replaceFirst("/*$", "/") + job.toHexString();
  }

  private Topics.WantedTopic topic() {
    return new Topics.WantedTopic(
        plan.getTopic(), partitions(), start.source().live(), leaders(), users);
  }

  private List<Integer> leaders() {
    return plan.getStream().getLeadersList().stream().map(Leader::getBroker).toList();
  }

  private int partitions() {
    return 1 + plan.getMonitorsList().stream().mapToInt(Monitor::getPartition).max().orElse(0);
  }

  /** Completes when the job has ended. REQUIRES: it was submitted or resumed. */
  CompletableFuture<JobEnd> jobEnd() {
    return jobEnd;
  }

  /** Returns how far the job has read its topic. */
  SamplingWatch.State progress() throws PipelineException {
    long written = environment.topics().written(plan.getTopic());
    long[] taken = environment.store().results().taken(plan.getQuery());
    return new SamplingWatch.State(written, taken[0], taken[1]);
  }

  /** Returns why no results arrive at the moment; empty if no reason is known. */
  String hindrance() {
    return cluster.hindrance(job);
  }

  /**
   * Waits until the job ends; fails if its results do not change for {@link #STALL_SECONDS}.
   * REQUIRES: all monitors have ended.
   *
   * @param aborted ends the wait when it completes exceptionally
   */
  JobEnd awaitJob(CompletableFuture<Void> aborted)
      throws ExecutionException, InterruptedException, PipelineException {
    CompletableFuture<Object> end = CompletableFuture.anyOf(aborted, jobEnd);
    Object results = results();
    while (true) {
      try {
        end.get(STALL_SECONDS, TimeUnit.SECONDS);
        return jobEnd.join();
      } catch (TimeoutException stalled) {
        Object now = results();
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

  /** Returns a value that changes as long as the job makes progress. */
  private Object results() {
    return environment.store().results().progress(plan.getQuery());
  }

  /** Removes everything; logs what can't be removed, which does not change how the query ended. */
  void remove() {
    if (jobEnd != null && !jobEnd.isDone()) {
      cancelJob();
    }
    // The submission may be about to create the user that is removed next.
    submission.handle((prepared, error) -> prepared).join();
    redis().revoke(plan.getQuery());
    try {
      environment.topics().retire(plan.getTopic());
    } catch (PipelineException e) {
      LOG.warn("can't clean up after {}: {}", plan.getQuery(), e.getMessage());
    }
    deleteCheckpoints();
  }

  private void cancelJob() {
    cluster.cancel(job);
    try {
      jobEnd.get(CANCEL_SECONDS, TimeUnit.SECONDS);
    } catch (ExecutionException | TimeoutException e) {
      LOG.warn("can't end the job of {}: {}", plan.getQuery(), e.toString());
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  /**
   * Deletes the folder of the job's checkpoints: Flink removes the checkpoints of an ended job, but
   * not their folders. Does not delete checkpoints that are not in files, or that this host can't
   * access.
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
      LOG.warn("can't clean up the checkpoints of {}: {}", plan.getQuery(), e.toString());
    }
  }
}
