package io.tapline.control.embedded;

import io.tapline.control.OwnerFiles;
import io.tapline.control.PipelineException;
import io.tapline.control.PipelineException.Kind;
import io.tapline.control.ProgressListener;
import io.tapline.control.flink.FlinkSession;
import io.tapline.control.query.Backend;
import io.tapline.control.query.JobClusters;
import io.tapline.control.query.KafkaAccess;
import io.tapline.control.query.QueryService;
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
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Kafka, Flink and Redis for this process, started side by side, and the queries that run on them.
 * {@link #close} takes all of it down, those that use others first; so does the end of the process.
 */
public final class EmbeddedPipeline implements AutoCloseable {
  private static final Logger LOG = LoggerFactory.getLogger(EmbeddedPipeline.class);

  /** The order of closing: a part before those that it uses. */
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
  private boolean closed;
  private volatile QueryService queries;

  private EmbeddedPipeline() {}

  /** Starts everything; returns when queries can be submitted. */
  public static EmbeddedPipeline start(EmbeddedOptions options, ProgressListener progress)
      throws PipelineException {
    return start(options, progress, close -> {});
  }

  /**
   * Starts everything; returns when queries can be submitted.
   *
   * @param onBegin is given what closes the pipeline, whatever has been started of it until then
   */
  public static EmbeddedPipeline start(
      EmbeddedOptions options, ProgressListener progress, Consumer<Runnable> onBegin)
      throws PipelineException {
    progress.progress(beginning(options), Double.NaN, 0, 0);
    EmbeddedPipeline pipeline = new EmbeddedPipeline();
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
    // Native libraries that Kafka's and Flink's jars unpack go where they are removed again.
    System.setProperty("java.io.tmpdir", folder.toString());
    CompletableFuture<RedisEndpoint> redis =
        starting(() -> options.redis().isEmpty() ? ownRedis(folder) : options.redis().get());
    CompletableFuture<Kafka> kafka =
        starting(
            () -> options.brokers().isEmpty() ? ownBroker(folder, options) : Kafka.of(options));
    CompletableFuture<JobClusters> flink = starting(() -> opened(clusters(options, folder)));
    // All three are awaited before anything is thrown, so that close() finds whatever came up.
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
            options.mostQueries(),
            options.jobKey());
    QueryService service =
        opened(
            new QueryService(backend, options.catalogue(), options.inventory(), options.network()));
    service.services().require();
    queries = service;
  }

  private static JobClusters clusters(EmbeddedOptions options, Path folder) throws IOException {
    if (options.flink().isEmpty()) {
      return new JobClusters(List.of(EmbeddedFlink.start(folder, options.mostQueries())));
    }
    List<FlinkSession> sessions = new ArrayList<>();
    try {
      for (String address : options.flink()) {
        sessions.add(
            FlinkSession.connect(
                address, options.flinkTls(), FlinkSession.ownJar(), options.checkpoints()));
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
   * How Kafka is reached.
   *
   * @param hostBrokers by other hosts
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
            KafkaEndpoint.open(own.brokers()),
            Optional.of(options.jobKey()),
            Optional.of(new KafkaAccess.LoginFile(monitors, file)),
            kafka.monitorKey());
    String hosts = kafka.hostBrokers();
    return new Kafka(own, hosts.isEmpty() ? own.brokers() : hosts, access);
  }

  private void failQueries(String reason) {
    QueryService service = queries;
    if (service != null) {
      service.failAll(reason);
    }
  }

  /** Unlike Redis, a broker that gave up can't be started again in this process. */
  private void brokerFailed(String reason) {
    LOG.error("{}", reason);
    if (failure.complete(reason)) {
      failQueries(reason);
    }
  }

  /** Something to start on another thread. */
  private interface Start<T> {
    T run() throws IOException;
  }

  private static <T> CompletableFuture<T> starting(Start<T> start) {
    CompletableFuture<T> future = new CompletableFuture<>();
    Thread thread =
        new Thread(
            () -> {
              try {
                future.complete(start.run());
              } catch (IOException | RuntimeException e) {
                future.completeExceptionally(e);
              }
            },
            "pipeline-start");
    thread.setDaemon(true);
    thread.start();
    return future;
  }

  /** Notes a part for closing; one that came up when all was closed already is closed at once. */
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

  /** Completes with the reason if something broke for which the process must be started anew. */
  public CompletableFuture<String> failure() {
    return failure;
  }

  @Override
  public void close() {
    try {
      Runtime.getRuntime().removeShutdownHook(hook);
    } catch (IllegalStateException shuttingDown) {
      return; // The hook does it.
    }
    closeAll();
  }

  private void closeAll() {
    List<AutoCloseable> closing;
    synchronized (this) {
      closed = true;
      closing = new ArrayList<>(started);
      started.clear();
    }
    closing.sort(Comparator.comparingInt(EmbeddedPipeline::place));
    closing.forEach(EmbeddedPipeline::close);
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
