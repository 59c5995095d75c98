package io.tapline.flink.job;

import io.tapline.flink.Endpoints;
import io.tapline.flink.JobOptions;
import io.tapline.flink.QuerySpec;
import io.tapline.flink.ingest.Buckets;
import io.tapline.flink.ingest.IngestOperator;
import io.tapline.flink.ingest.TupleSource;
import io.tapline.flink.panes.PaneOperator;
import io.tapline.flink.results.AlertSink;
import io.tapline.flink.results.RedisSink;
import io.tapline.flink.results.ResultsOperator;
import io.tapline.flink.results.ResultsTopic;
import io.tapline.flink.results.Update;
import io.tapline.flink.results.WindowUpdate;
import io.tapline.schema.proto.Plan;
import java.time.Duration;
import java.util.List;
import org.apache.flink.api.common.JobID;
import org.apache.flink.api.common.RuntimeExecutionMode;
import org.apache.flink.api.common.eventtime.WatermarkStrategy;
import org.apache.flink.api.common.typeinfo.PrimitiveArrayTypeInfo;
import org.apache.flink.api.common.typeinfo.TypeInformation;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.api.java.tuple.Tuple2;
import org.apache.flink.api.java.typeutils.GenericTypeInfo;
import org.apache.flink.configuration.CheckpointingOptions;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.configuration.ExecutionOptions;
import org.apache.flink.configuration.PipelineOptions;
import org.apache.flink.configuration.RestartStrategyOptions;
import org.apache.flink.configuration.StateBackendOptions;
import org.apache.flink.core.execution.CheckpointingMode;
import org.apache.flink.streaming.api.datastream.DataStream;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.streaming.api.graph.StreamGraph;
import org.apache.flink.util.Collector;

/**
 * The stream job, which runs any plan.
 *
 * <pre>
 *   Kafka ─▶ source+ingest ─┐                ┌─▶ panes ─┐
 *   Kafka ─▶ source+ingest ─┼─ by bucket ───▶┼─▶ panes ─┼─▶ results+Redis
 *            per partition  ┘                └─▶  …     ┘   one subtask
 *            combine per pane                 windows       rankings
 * </pre>
 */
public final class QueryJob {
  private static final TypeInformation<Tuple2<Integer, byte[]>> FLUSHES =
      Types.TUPLE(Types.INT, PrimitiveArrayTypeInfo.BYTE_PRIMITIVE_ARRAY_TYPE_INFO);

  /**
   * Uptime after which a new failure no longer counts as consecutive. It exceeds the time for which
   * the sink retries before it fails the job.
   */
  private static final Duration STABLE_AFTER = Duration.ofMinutes(5);

  private static final long TRIGGER_BUFFER_TIMEOUT_MS = 2;

  private QueryJob() {}

  /**
   * Adds the plan's topology to {@code env} and sets the job's options there; the caller executes
   * or submits it.
   *
   * @throws IllegalArgumentException if no job can run this plan; the message says why
   */
  public static void build(
      StreamExecutionEnvironment env, Plan plan, Endpoints endpoints, JobOptions options) {
    QuerySpec query = QuerySpec.of(plan);
    env.configure(configuration(options));
    env.setParallelism(options.parallelism());
    env.setMaxParallelism(Buckets.MAX_PARALLELISM);
    // No operator modifies a record that it has sent, so copies are unnecessary; Flink has no
    // serializer that could copy tuple batches.
    env.getConfig().enableObjectReuse();
    var batches =
        env.fromSource(
                new TupleSource(query, endpoints, options),
                WatermarkStrategy.noWatermarks(),
                "tuples of " + query.query())
            .uid("source");
    var flushes =
        batches.transform("combine per pane", FLUSHES, new IngestOperator(query)).uid("ingest");
    var reports =
        flushes
            .keyBy(flush -> flush.f0, Types.INT)
            .transform(
                "close windows",
                PrimitiveArrayTypeInfo.BYTE_PRIMITIVE_ARRAY_TYPE_INFO,
                new PaneOperator(query, options))
            .uid("panes");
    var updates =
        reports
            .global()
            .transform(
                "rank", new GenericTypeInfo<>(Update.class), new ResultsOperator(query, options))
            .uid("results")
            .forceNonParallel();
    updates
        .sinkTo(new RedisSink(query, endpoints, options.windowsKept()))
        .name("Redis")
        .uid("redis")
        .setParallelism(1);
    if (!endpoints.resultsTopic().isEmpty()) {
      windows(updates)
          .sinkTo(ResultsTopic.sink(query, endpoints))
          .name("results topic")
          .uid("results-topic")
          .setParallelism(1);
    }
    if (query.processors().stream().anyMatch(spec -> spec.trigger() != null)) {
      // Alerts must not wait for a buffer to fill.
      env.setBufferTimeout(TRIGGER_BUFFER_TIMEOUT_MS);
      windows(updates)
          .sinkTo(new AlertSink(query, endpoints))
          .name("alerts")
          .uid("alerts")
          .setParallelism(1);
    }
  }

  private static DataStream<WindowUpdate> windows(DataStream<Update> updates) {
    return updates
        .flatMap(QueryJob::addIfWindow, new GenericTypeInfo<>(WindowUpdate.class))
        .name("windows")
        .setParallelism(1);
  }

  private static void addIfWindow(Update update, Collector<WindowUpdate> out) {
    if (update instanceof WindowUpdate window) {
      out.collect(window);
    }
  }

  private static Configuration configuration(JobOptions options) {
    Configuration configuration = new Configuration();
    configuration.set(ExecutionOptions.RUNTIME_MODE, RuntimeExecutionMode.STREAMING);
    configuration.set(StateBackendOptions.STATE_BACKEND, "hashmap");
    // Watermarks arrive with the batches; Flink's own timers would only wake each job needlessly.
    configuration.set(PipelineOptions.AUTO_WATERMARK_INTERVAL, Duration.ZERO);
    setRestarts(configuration, options.restartAttempts());
    if (!options.checkpointInterval().isZero()) {
      configuration.set(CheckpointingOptions.CHECKPOINTING_INTERVAL, options.checkpointInterval());
      configuration.set(
          CheckpointingOptions.CHECKPOINTING_CONSISTENCY_MODE, CheckpointingMode.EXACTLY_ONCE);
      // A failed checkpoint only lengthens the next replay; it does not fail the job.
      configuration.set(CheckpointingOptions.TOLERABLE_FAILURE_NUMBER, Integer.MAX_VALUE);
      setStorage(configuration, options.checkpointDirectory());
    }
    return configuration;
  }

  /** Limits only consecutive failures, since a query may run for months. */
  private static void setRestarts(Configuration configuration, int attempts) {
    if (attempts == 0) {
      configuration.set(RestartStrategyOptions.RESTART_STRATEGY, "none");
      return;
    }
    configuration.set(RestartStrategyOptions.RESTART_STRATEGY, "exponential-delay");
    configuration.set(
        RestartStrategyOptions.RESTART_STRATEGY_EXPONENTIAL_DELAY_INITIAL_BACKOFF,
        Duration.ofMillis(500));
    configuration.set(
        RestartStrategyOptions.RESTART_STRATEGY_EXPONENTIAL_DELAY_MAX_BACKOFF,
        Duration.ofSeconds(10));
    configuration.set(
        RestartStrategyOptions.RESTART_STRATEGY_EXPONENTIAL_DELAY_RESET_BACKOFF_THRESHOLD,
        STABLE_AFTER);
    configuration.set(RestartStrategyOptions.RESTART_STRATEGY_EXPONENTIAL_DELAY_ATTEMPTS, attempts);
  }

  private static void setStorage(Configuration configuration, String directory) {
    configuration.set(
        CheckpointingOptions.CHECKPOINT_STORAGE, directory.isEmpty() ? "jobmanager" : "filesystem");
    if (!directory.isEmpty()) {
      configuration.set(CheckpointingOptions.CHECKPOINTS_DIRECTORY, directory);
    }
  }

  /** Returns the topology as a graph with the given job ID, for {@code MiniCluster.submitJob}. */
  public static StreamGraph graph(Plan plan, Endpoints endpoints, JobOptions options, JobID id) {
    StreamExecutionEnvironment env = new StreamExecutionEnvironment();
    build(env, plan, endpoints, options);
    StreamGraph graph = env.getStreamGraph();
    graph.setJobName("tapline " + plan.getQuery());
    graph.setJobId(id);
    return graph;
  }

  /** Returns the arguments for {@link #main}. */
  public static List<String> arguments(Plan plan, Endpoints endpoints, JobOptions options) {
    return JobArguments.format(plan, endpoints, options);
  }

  /**
   * Entry point of the job jar. Runs a plan in the cluster to which the jar was submitted; see
   * {@link JobArguments#USAGE}.
   */
  public static void main(String[] args) throws Exception {
    JobArguments arguments;
    try {
      arguments = JobArguments.parse(args);
    } catch (IllegalArgumentException e) {
      // A session cluster returns this message in its REST response; a separate JVM ends with a
      // stack trace and exit code 1.
      throw new IllegalArgumentException(e.getMessage() + "\n" + JobArguments.USAGE, e);
    }
    StreamExecutionEnvironment env = StreamExecutionEnvironment.getExecutionEnvironment();
    build(env, arguments.plan(), arguments.endpoints(), arguments.options());
    env.execute("tapline " + arguments.plan().getQuery());
  }
}
