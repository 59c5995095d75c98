package io.tapline.control.embedded;

import io.tapline.control.OwnerFiles;
import io.tapline.control.PipelineException;
import io.tapline.control.PipelineException.Kind;
import io.tapline.control.ProgressListener;
import io.tapline.control.flink.FlinkSession;
import io.tapline.control.flink.JobJar;
import io.tapline.control.query.QueryService;
import io.tapline.control.query.services.Backend;
import io.tapline.control.query.services.JobClusters;
import io.tapline.control.query.services.KafkaAccess;
import io.tapline.flink.Endpoints;
import io.tapline.flink.KafkaEndpoint;
import io.tapline.flink.Login;
import io.tapline.flink.RedisEndpoint;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.function.Consumer;
import org.apache.flink.runtime.minicluster.MiniCluster;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Kafka, Flink and Redis for this process, started or connected to in parallel, and the queries
 * that run on them. Queries can be submitted as soon as Kafka and Redis are up; their jobs wait for
 * Flink. {@link #close} shuts everything down in dependency order, as does a shutdown hook.
 */
public final class EmbeddedPipeline implements AutoCloseable {
  private static final Logger LOG = LoggerFactory.getLogger(EmbeddedPipeline.class);

  /** The order in which components are closed: a component comes before those that it uses. */
  private static final List<Class<? extends AutoCloseable>> ORDER =
      List.of(
          QueryService.class,
          JobClusters.class,
          EmbeddedKafka.class,
          EmbeddedRedis.class,
          TemporaryFolder.class);

  private final List<AutoCloseable> started = new ArrayList<>();
  private final CompletableFuture<String> failure = new CompletableFuture<>();
  private final Thread hook = new Thread(this::closeAll, "pipeline-shutdown");
  private final ProgressListener progress;
  private boolean closed;
  private CompletableFuture<?> flinkStarted = CompletableFuture.completedFuture(null);
  private volatile QueryService queries;

  private EmbeddedPipeline(ProgressListener progress) {
    this.progress = progress;
  }

  /** Starts everything; returns when everything is running. */
  public static EmbeddedPipeline start(EmbeddedOptions options, ProgressListener progress)
      throws PipelineException {
    return start(options, progress, close -> {});
  }

  /**
   * Starts everything; returns when everything is running.
   *
   * @param onBegin receives an action that closes all components started so far
   */
  public static EmbeddedPipeline start(
      EmbeddedOptions options, ProgressListener progress, Consumer<Runnable> onBegin)
      throws PipelineException {
    EmbeddedPipeline pipeline = begin(options, progress, onBegin);
    try {
      pipeline.flinkStarted.join();
      return pipeline;
    } catch (CompletionException e) {
      pipeline.close();
      throw new PipelineException(Kind.RESOURCES, e.getCause().getMessage(), e.getCause());
    }
  }

  /**
   * Starts everything; returns when queries can be submitted. If an embedded Flink does not start,
   * the queries that wait for it fail.
   *
   * @param onBegin receives an action that closes all components started so far
   */
  public static EmbeddedPipeline begin(
      EmbeddedOptions options, ProgressListener progress, Consumer<Runnable> onBegin)
      throws PipelineException {
    progress.progress(beginning(options), Double.NaN, 0, 0);
    EmbeddedPipeline pipeline = new EmbeddedPipeline(progress);
    try {
      Runtime.getRuntime().addShutdownHook(pipeline.hook);
      onBegin.accept(pipeline::close);
      pipeline.startAll(options);
      return pipeline;
    } catch (IOException | CompletionException e) {
      pipeline.close();
      Throwable cause = e instanceof CompletionException ? e.getCause() : e;
      throw new PipelineException(Kind.RESOURCES, cause.getMessage(), cause);
    } catch (PipelineException | RuntimeException e) {
      pipeline.close();
      throw e;
    }
  }

  private static String beginning(EmbeddedOptions options) {
    List<String> own = new ArrayList<>();
    List<String> others = new ArrayList<>();
    (options.brokers().isEmpty() ? own : others).add("Kafka");
    (options.flink().isEmpty() ? own : others).add("Flink");
    (options.redis().isEmpty() ? own : others).add("Redis");
    return own.isEmpty()
        ? "connecting to " + String.join(", ", others)
        : "starting " + String.join(", ", own);
  }

  private void startAll(EmbeddedOptions options) throws IOException, PipelineException {
    Path folder = opened(TemporaryFolder.create()).path();
    // The jars of Kafka and Flink unpack native libraries into this folder, which is removed at the
    // end.
    System.setProperty("java.io.tmpdir", folder.toString());
    CompletableFuture<Kafka> kafka =
        starting(
            "start Kafka",
            () -> options.brokers().isEmpty() ? ownBroker(folder, options) : Kafka.of(options));
    CompletableFuture<JobClusters> flink =
        options.flink().isEmpty()
            ? CompletableFuture.completedFuture(ownCluster(folder, options))
            : starting("connect to Flink", () -> opened(clusters(folder, options)));
    CompletableFuture<RedisEndpoint> redis =
        starting(
            "start Redis",
            () -> options.redis().isEmpty() ? ownRedis(folder) : options.redis().get());
    // Waits for all components before throwing, since close() must find every component that was
    // started.
    CompletableFuture.allOf(redis, kafka, flink).join();
    Endpoints endpoints = new Endpoints(kafka.join().endpoint(), redis.join());
    Backend backend =
        new Backend(
            endpoints,
            kafka.join().hostBrokers(),
            kafka.join().access(),
            flink.join(),
            options.monitor(),
            options.plugins(),
            options.hashKeys().write(folder.resolve("hash.key")),
            folder,
            options.topics(),
            options.maxQueries(),
            options.jobKey());
    try (ProgressListener.Phase connecting = progress.phase("connect to the services")) {
      QueryService service =
          opened(
              new QueryService(
                  backend, options.catalogue(), options.inventory(), options.network()));
      service.services().require();
      queries = service;
    }
  }

  private JobClusters ownCluster(Path folder, EmbeddedOptions options) throws IOException {
    CompletableFuture<MiniCluster> cluster =
        starting("start Flink", () -> EmbeddedFlink.startCluster(folder, options.maxQueries()));
    flinkStarted = cluster;
    return opened(new JobClusters(List.of(EmbeddedFlink.starting(cluster, folder))));
  }

  private static JobClusters clusters(Path folder, EmbeddedOptions options) throws IOException {
    List<FlinkSession> sessions = new ArrayList<>();
    try {
      Path jar = JobJar.write(folder);
      for (String address : options.flink()) {
        sessions.add(FlinkSession.connect(address, options.flinkTls(), jar, options.checkpoints()));
      }
    } catch (IOException e) {
      sessions.forEach(FlinkSession::close);
      throw e;
    }
    return new JobClusters(sessions);
  }

  private RedisEndpoint ownRedis(Path folder) throws IOException {
    return opened(EmbeddedRedis.start(folder, this::failQueries)).endpoint();
  }

  /**
   * Access to Kafka.
   *
   * @param hostBrokers addresses at which other hosts reach the brokers
   */
  private record Kafka(KafkaEndpoint endpoint, String hostBrokers, KafkaAccess access) {
    static Kafka of(EmbeddedOptions options) {
      KafkaEndpoint endpoint = new KafkaEndpoint(options.brokers(), options.kafkaTls(), Login.NONE);
      return new Kafka(endpoint, options.brokers(), access(options));
    }

    private static KafkaAccess access(EmbeddedOptions options) {
      String jobs = options.jobBrokers();
      return jobs.isEmpty()
          ? KafkaAccess.withoutLogins(
              new KafkaEndpoint(options.brokers(), options.kafkaTls(), Login.NONE))
          : KafkaAccess.ofJobs(
              new KafkaEndpoint(jobs, options.kafkaTls(), Login.NONE), options.jobKey());
    }
  }

  private Kafka ownBroker(Path folder, EmbeddedOptions options) throws IOException {
    EmbeddedKafka kafka =
        opened(EmbeddedKafka.start(folder, options.address(), this::brokerFailed));
    KafkaEndpoint own = kafka.endpoint();
    Login monitors = kafka.monitorLogin();
    Path file = OwnerFiles.write(folder.resolve("monitor.login"), monitors.format() + "\n");
    KafkaAccess access =
        new KafkaAccess(
            own.withLogin(Login.NONE),
            kafka.key(),
            Optional.of(new KafkaAccess.LoginFile(monitors, file)),
            kafka.key());
    String hosts = kafka.hostBrokers();
    return new Kafka(own, hosts.isEmpty() ? own.brokers() : hosts, access);
  }

  private void failQueries(String reason) {
    QueryService service = queries;
    if (service != null) {
      service.failAll(reason);
    }
  }

  /** Fails all queries: unlike Redis, a failed broker can't be restarted in this process. */
  private void brokerFailed(String reason) {
    LOG.error("{}", reason);
    if (failure.complete(reason)) {
      failQueries(reason);
    }
  }

  /** A startup action for another thread. */
  private interface Start<T> {
    T run() throws IOException;
  }

  private <T> CompletableFuture<T> starting(String phase, Start<T> start) {
    CompletableFuture<T> future = new CompletableFuture<>();
    Thread thread =
        new Thread(
            () -> {
              try (ProgressListener.Phase running = progress.phase(phase)) {
                future.complete(start.run());
              } catch (Throwable e) {
                // Catches errors, too: other threads wait for this one.
                future.completeExceptionally(e);
              }
            },
            "pipeline-start");
    thread.setDaemon(true);
    thread.start();
    return future;
  }

  /**
   * Registers a component for closing; closes it immediately if the pipeline has already been
   * closed.
   */
  private <T extends AutoCloseable> T opened(T part) throws IOException {
    synchronized (this) {
      if (!closed) {
        started.add(part);
        return part;
      }
    }
    close(part);
    throw new IOException("stopped while starting");
  }

  public QueryService queries() {
    return queries;
  }

  /**
   * Returns a future that completes with the reason if a failure requires a restart of the process.
   */
  public CompletableFuture<String> failure() {
    return failure;
  }

  @Override
  public void close() {
    close(EmbeddedPipeline::close);
  }

  /**
   * Ends the queries and child processes and removes the files; the servers within this process end
   * with it. REQUIRES: the process is about to exit.
   */
  public void abandon() {
    // A Flink cluster that is still starting would create files in a folder that no longer exists.
    flinkStarted.handle((started, error) -> started).join();
    close(EmbeddedPipeline::abandon);
  }

  private void close(Consumer<AutoCloseable> end) {
    try {
      Runtime.getRuntime().removeShutdownHook(hook);
    } catch (IllegalStateException shuttingDown) {
      return; // The shutdown hook is already running.
    }
    closeAll(end);
  }

  private void closeAll() {
    closeAll(EmbeddedPipeline::close);
  }

  private void closeAll(Consumer<AutoCloseable> end) {
    List<AutoCloseable> closing;
    synchronized (this) {
      closed = true;
      closing = new ArrayList<>(started);
      started.clear();
    }
    closing.sort(Comparator.comparingInt(EmbeddedPipeline::place));
    closing.forEach(end);
  }

  private static void abandon(AutoCloseable part) {
    if (part instanceof EmbeddedKafka kafka) {
      kafka.abandon();
    } else if (part instanceof JobClusters clusters) {
      clusters.abandon();
    } else if (part instanceof EmbeddedRedis redis) {
      redis.abandon();
    } else {
      close(part);
    }
  }

  private static int place(AutoCloseable part) {
    return (int) ORDER.stream().takeWhile(kind -> !kind.isInstance(part)).count();
  }

  private static void close(AutoCloseable part) {
    try {
      part.close();
    } catch (Exception e) {
      LOG.warn("closing {}", part.getClass().getSimpleName(), e);
    }
  }
}
