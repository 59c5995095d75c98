package io.tapline.control.flink;

import com.fasterxml.jackson.databind.JsonNode;
import io.tapline.control.flink.FlinkRest.Answer;
import io.tapline.control.query.services.JobCluster;
import io.tapline.flink.Endpoints;
import io.tapline.flink.JobOptions;
import io.tapline.flink.TlsFiles;
import io.tapline.flink.job.QueryJob;
import io.tapline.schema.proto.Plan;
import java.io.IOException;
import java.net.ConnectException;
import java.net.URI;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import org.apache.flink.api.common.JobID;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * An existing Flink session cluster, used through its REST interface. The job's jar is uploaded
 * once and deleted on close. Callers choose the job IDs, so a submission whose response was lost
 * can be retried without starting a second job. Thread-safe.
 */
public final class FlinkSession implements JobCluster {
  private static final Logger LOG = LoggerFactory.getLogger(FlinkSession.class);

  private static final long RETRY_MS = 1_000;

  /** Time that a job manager may be down, or without leadership, when a job is submitted. */
  private static final Duration SUBMIT_TIMEOUT = Duration.ofSeconds(30);

  /**
   * Timeout for resuming a running job, longer than {@link #SUBMIT_TIMEOUT} because without a
   * response the job's state is unknown.
   */
  private static final Duration RESUME_TIMEOUT = Duration.ofSeconds(120);

  private static final long POLL_MS = 200;

  /** Number of polls during which a restarted job manager may not know its jobs yet. */
  private static final int MAX_UNKNOWN_POLLS = (int) (120_000 / POLL_MS);

  private final URI address;
  private final FlinkRest rest;
  private final Path jar;
  private final String checkpoints;
  private final Map<String, CompletableFuture<JobEnd>> jobs = new ConcurrentHashMap<>();
  private final Map<String, Integer> unknown = new HashMap<>();
  private final JobProblems hindrances = new JobProblems();
  private final ScheduledExecutorService poller =
      Executors.newSingleThreadScheduledExecutor(
          task -> {
            Thread thread = new Thread(task, "flink-jobs");
            thread.setDaemon(true);
            return thread;
          });

  private volatile String jarId;

  /** Creates a session. REQUIRES: {@link #watchJobs} is called next. */
  FlinkSession(URI address, FlinkRest rest, Path jar, String checkpoints) {
    this.address = address;
    this.rest = rest;
    this.jar = jar;
    this.checkpoints = checkpoints;
  }

  /**
   * Connects to a cluster and uploads the job's jar.
   *
   * @param address address of the job manager, {@code http://host:8081}
   * @param tls TLS files; none for plain HTTP
   * @param jar jar of the job and of all Tapline classes that it needs
   * @param checkpoints URI of a folder that the cluster's hosts share; empty for the job manager's
   *     memory
   */
  public static FlinkSession connect(String address, TlsFiles tls, Path jar, String checkpoints)
      throws IOException {
    URI uri = URI.create(address);
    FlinkSession session = new FlinkSession(uri, new FlinkRest(uri, tls), jar, checkpoints);
    try {
      session.jarId = session.rest.upload(jar);
    } catch (ConnectException e) {
      String reason = "no answer; check that it is running and that the address is right";
      throw new IOException("Flink at " + address + " can't be used: " + reason, e);
    } catch (IOException e) {
      throw new IOException("Flink at " + address + " can't be used: " + e.getMessage(), e);
    }
    session.watchJobs();
    return session;
  }

  void watchJobs() {
    poller.scheduleWithFixedDelay(this::poll, 0, POLL_MS, TimeUnit.MILLISECONDS);
  }

  @Override
  public void submit(Plan plan, Endpoints endpoints, JobOptions options, JobID id)
      throws IOException {
    List<String> arguments = QueryJob.arguments(plan, endpoints, options);
    try {
      retried(
          SUBMIT_TIMEOUT,
          () -> {
            submit(id.toHexString(), arguments);
            return true;
          });
    } catch (DefiniteRefusal e) {
      throw e;
    } catch (IOException e) {
      throw new IOException(
          "Flink at " + address + " could not submit the job: " + e.getMessage(), e);
    }
    jobs.put(id.toHexString(), new CompletableFuture<>());
  }

  @Override
  public boolean resume(JobID id) throws IOException {
    boolean isKnown =
        retried(RESUME_TIMEOUT, () -> rest.get("/jobs/" + id.toHexString()).decided().ok());
    if (isKnown) {
      jobs.put(id.toHexString(), new CompletableFuture<>());
    }
    return isKnown;
  }

  private interface Attempt<T> {
    T get() throws IOException;
  }

  /** Retries a request until the leading job manager answers it or the timeout expires. */
  private <T> T retried(Duration timeout, Attempt<T> request) throws IOException {
    long deadline = System.nanoTime() + timeout.toNanos();
    while (true) {
      try {
        return request.get();
      } catch (DefiniteRefusal e) {
        throw e;
      } catch (IOException e) {
        if (System.nanoTime() > deadline) {
          throw e;
        }
        LOG.info("{} did not answer, trying again: {}", address, e.toString());
        pause();
      }
    }
  }

  /** Thrown when the job manager rejects a job, which a retry would not change. */
  private static final class DefiniteRefusal extends IOException {
    private static final long serialVersionUID = 1L;

    DefiniteRefusal(String message) {
      super(message);
    }
  }

  private void submit(String id, List<String> arguments) throws IOException {
    Answer answer = rest.run(jarId, QueryJob.class.getName(), id, arguments).decided();
    if (!answer.ok() && !rest.has(jarId)) {
      // A restarted job manager has lost the jar; the status does not distinguish that from other
      // failures.
      jarId = rest.upload(jar);
      answer = rest.run(jarId, QueryJob.class.getName(), id, arguments).decided();
    }
    // Flink rejects the job if an earlier attempt has already started it.
    if (!answer.ok() && !rest.get("/jobs/" + id).decided().ok()) {
      throw new DefiniteRefusal("Flink at " + address + " rejected the job: " + answer.fault());
    }
  }

  private static void pause() throws IOException {
    try {
      Thread.sleep(RETRY_MS);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new IOException("interrupted while submitting a job", e);
    }
  }

  private void poll() {
    jobs.forEach(
        (id, end) -> {
          if (!end.isDone()) {
            look(id, end);
          }
        });
  }

  private void look(String id, CompletableFuture<JobEnd> end) {
    try {
      Answer answer = rest.get("/jobs/" + id);
      if (answer.ok()) {
        unknown.remove(id);
        hindrances.note(id, answer.body());
        ended(id, answer.body().path("state").asText(), end);
      } else if (unknown.merge(id, 1, Integer::sum) > MAX_UNKNOWN_POLLS) {
        finish(id, end, new JobEnd("Flink at " + address + " no longer has it", null));
      }
    } catch (IOException | RuntimeException e) {
      // With high availability, the next job manager resumes the job; the query's results show if
      // it did not.
      LOG.debug("{} does not answer: {}", address, e.toString());
    }
  }

  @Override
  public String hindrance(JobID id) {
    return hindrances.of(id.toHexString());
  }

  private void ended(String id, String state, CompletableFuture<JobEnd> end) throws IOException {
    switch (state) {
      case "FINISHED" -> finish(id, end, JobEnd.success());
      case "CANCELED" -> finish(id, end, new JobEnd("it was cancelled", null));
      case "FAILED" -> {
        Answer reason = rest.get("/jobs/" + id + "/exceptions");
        finish(id, end, new JobEnd(reason(reason), null));
      }
      default -> {
        // The job runs, or is restarting.
      }
    }
  }

  private static String reason(Answer exceptions) {
    String trace = exceptions.body().at("/exceptionHistory/entries/0/stacktrace").asText();
    return trace.isEmpty() ? "no reason given" : FlinkRest.rootOf(trace);
  }

  private void finish(String id, CompletableFuture<JobEnd> end, JobEnd outcome) {
    unknown.remove(id);
    hindrances.forget(id);
    end.complete(outcome);
  }

  @Override
  public CompletableFuture<JobEnd> end(JobID id) {
    CompletableFuture<JobEnd> end = jobs.get(id.toHexString());
    end.whenComplete((outcome, never) -> jobs.remove(id.toHexString()));
    return end;
  }

  @Override
  public void cancel(JobID id) {
    try {
      rest.cancel(id.toHexString());
    } catch (IOException e) {
      LOG.warn("the job {} could not be cancelled: {}", id, e.toString());
    }
  }

  @Override
  public String address() {
    return address.toString();
  }

  @Override
  public List<TaskManager> taskManagers() throws IOException {
    List<TaskManager> managers = new ArrayList<>();
    for (JsonNode taskManager : rest.get("/taskmanagers").decided().body().path("taskmanagers")) {
      // Example: pekko.tcp://flink@10.0.0.3:6122/user/rpc/taskmanager_0
      String host = URI.create(taskManager.path("path").asText()).getHost();
      managers.add(
          new TaskManager(
              taskManager.path("id").asText(),
              host == null ? "" : host,
              taskManager.path("freeSlots").asInt()));
    }
    return managers;
  }

  @Override
  public boolean isRunning() {
    try {
      return rest.get("/overview").ok();
    } catch (IOException e) {
      return false;
    }
  }

  @Override
  public String checkpoints() {
    return checkpoints;
  }

  @Override
  public void close() {
    poller.shutdownNow();
    try {
      rest.delete(jarId);
    } catch (IOException e) {
      LOG.warn("can't delete the job's jar at {}: {}", address, e.toString());
    }
  }
}
