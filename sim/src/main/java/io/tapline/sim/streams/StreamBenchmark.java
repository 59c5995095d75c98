package io.tapline.sim.streams;

import com.sun.management.OperatingSystemMXBean;
import io.tapline.flink.Endpoints;
import io.tapline.flink.JobOptions;
import io.tapline.flink.RedisClients;
import io.tapline.flink.job.QueryJob;
import io.tapline.schema.proto.Plan;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import java.util.stream.Stream;
import org.apache.flink.api.common.JobID;
import org.apache.flink.configuration.CheckpointingOptions;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.configuration.CoreOptions;
import org.apache.flink.configuration.MemorySize;
import org.apache.flink.configuration.RestOptions;
import org.apache.flink.configuration.TaskManagerOptions;
import org.apache.flink.connector.kafka.source.KafkaSource;
import org.apache.flink.connector.kafka.source.enumerator.initializer.OffsetsInitializer;
import org.apache.flink.runtime.minicluster.MiniCluster;
import org.apache.flink.runtime.minicluster.MiniClusterConfiguration;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.streaming.api.graph.StreamGraph;
import redis.clients.jedis.Jedis;

/**
 * Measures tuples per second and CPU time per tuple of the stream job, {@link TextbookJob} and
 * {@link CompetentJob}, in the same process and run. A window of 10 s ends every second, a
 * checkpoint is written to files every second, and a real broker and a real Redis run on this host.
 * All jobs read the same {@link Traffic}; the baselines read less of it.
 *
 * <p>Each job reads a quarter of a long input until the JVM is warm, then all of it. The result is
 * the difference between the two runs, which excludes startup and shutdown. Not thread-safe.
 */
public final class StreamBenchmark implements AutoCloseable {
  private static final OperatingSystemMXBean SYSTEM =
      (OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean();
  private static final long LONGEST_RUN_SECONDS = 1200;
  private static final long PERIOD_SECONDS = 10;
  private static final long POLL_MS = 20;
  private static final int MAX_WARM_UPS = 8;
  private static final double WARM = 0.95;

  /** Maximum lead of a producer in records, well within the topic's retention. */
  private static final long MAX_AHEAD_RECORDS = 4_000;

  private final Endpoints endpoints;
  private final Path folder;
  private final Consumer<String> progress;
  private final Topics topics;
  private final MiniCluster cluster;
  private int runs;

  /**
   * Sizes of a measurement.
   *
   * @param keys number of distinct keys
   * @param tuplesPerSecond tuples per second of packet time, in all partitions together
   * @param textbookTuples number of tuples in the longer run of a baseline
   * @param tuples number of tuples in the longer run of the stream job
   */
  public record Sizes(int keys, int tuplesPerSecond, long textbookTuples, long tuples) {}

  /**
   * Starts a Flink cluster in this process.
   *
   * @param folder folder for checkpoints
   * @param slots maximum parallelism
   */
  public static StreamBenchmark start(
      Endpoints endpoints, Path folder, int slots, Consumer<String> progress) throws Exception {
    MiniCluster cluster = cluster(folder, slots);
    return new StreamBenchmark(endpoints, folder, cluster, progress);
  }

  /** Returns a started Flink cluster in this process. */
  static MiniCluster cluster(Path folder, int slots) throws Exception {
    Configuration settings = new Configuration();
    settings.set(CoreOptions.TMP_DIRS, folder.resolve("flink").toString());
    settings.set(TaskManagerOptions.NETWORK_MEMORY_MIN, MemorySize.ofMebiBytes(128));
    settings.set(TaskManagerOptions.NETWORK_MEMORY_MAX, MemorySize.ofMebiBytes(128));
    settings.set(RestOptions.BIND_ADDRESS, "127.0.0.1");
    MiniCluster cluster =
        new MiniCluster(
            new MiniClusterConfiguration.Builder()
                .setConfiguration(settings)
                .setNumTaskManagers(1)
                .setNumSlotsPerTaskManager(slots)
                .setCommonBindAddress("127.0.0.1")
                .withRandomPorts()
                .build());
    cluster.start();
    return cluster;
  }

  private StreamBenchmark(
      Endpoints endpoints, Path folder, MiniCluster cluster, Consumer<String> progress) {
    this.endpoints = endpoints;
    this.folder = folder;
    this.cluster = cluster;
    this.progress = progress;
    this.topics = new Topics(endpoints.kafka());
  }

  /** Compares the baselines and the stream job on one kind of query, each at its maximum speed. */
  public Comparison compare(Traffic.Kind kind, Sizes sizes, int parallelism) throws Exception {
    Input input = new Input(kind, sizes.keys, sizes.tuplesPerSecond, 1, parallelism, false);
    Cost textbook = measure(Baseline.TEXTBOOK, input, sizes.textbookTuples);
    Cost competent = measure(Baseline.COMPETENT, input, sizes.textbookTuples);
    return new Comparison(
        kind.label(), textbook, competent, measure(input, sizes.tuples, options(1)));
  }

  private Cost measure(Baseline job, Input input, long tuples) throws Exception {
    Run run = count -> baseline(job, input, count);
    Cost shorter = warm(run, tuples / 4, 2);
    return run.over(tuples).minus(shorter);
  }

  /**
   * Compares the same jobs on input from a producer that sends a fixed number of tuples per second.
   *
   * @see PacedComparison
   */
  public PacedComparison.Result comparePaced(
      Traffic.Kind kind, Sizes sizes, int seconds, int parallelism) throws Exception {
    Input input = new Input(kind, sizes.keys, sizes.tuplesPerSecond, 1, parallelism, false);
    PacedComparison comparison =
        new PacedComparison(endpoints, cluster, topics, checkpoints(), progress);
    return comparison.run(input, sizes.tuplesPerSecond, seconds, "paced-" + runs++);
  }

  /** Measures only the stream job, in the same way as {@link #compare}. */
  public Cost measure(Traffic.Kind kind, Sizes sizes, int parallelism) throws Exception {
    Input input = new Input(kind, sizes.keys, sizes.tuplesPerSecond, 1, parallelism, false);
    return measure(input, sizes.tuples, options(1));
  }

  /**
   * The cost of the stream job with this many keys.
   *
   * @param heldBytes memory in use after the job has read everything, including the clients of the
   *     broker and Redis
   * @param checkpointBytes size of its last checkpoint
   */
  public record KeyCost(int keys, Cost cost, long heldBytes, long checkpointBytes) {}

  /**
   * Measures top-k with every key in every window. While the cost is measured, the checkpoint
   * interval is one second per 100,000 keys, for example ten seconds for a million.
   */
  public KeyCost measureKeys(Sizes sizes, int parallelism) throws Exception {
    int seconds = Math.max(1, sizes.keys / sizes.tuplesPerSecond);
    Input input =
        new Input(
            Traffic.Kind.TOP_K, sizes.keys, sizes.tuplesPerSecond, seconds, parallelism, true);
    JobOptions options =
        options(Math.max(1, sizes.keys / 100_000)).withBounds(8 * sizes.keys + 1_000_000, 1, 10);
    Cost cost = measure(input, sizes.tuples, options);
    return hold(input, sizes, cost, options(2).withBounds(8 * sizes.keys + 1_000_000, 1, 10));
  }

  /** Measures a job's memory after it has read a dozen seconds of packet time. */
  private KeyCost hold(Input input, Sizes sizes, Cost cost, JobOptions options) throws Exception {
    long previousUsedBytes = usedBytes();
    Plan plan = plan(input, "bench-" + runs++);
    topics.create(plan.getTopic(), input.partitions, Map.of());
    long written = write(input, plan, Math.max(12L * sizes.tuplesPerSecond, sizes.keys), false);
    JobID id = JobID.generate();
    JobOptions own = options.withParallelism(input.partitions);
    cluster.submitJob(QueryJob.graph(plan, endpoints, own, id)).get();
    await(() -> counted(plan) == written);
    Thread.sleep(3 * options.checkpointInterval().toMillis());
    long retainedBytes = usedBytes() - previousUsedBytes;
    long checkpoint = size(folder.resolve("checkpoints").resolve(id.toHexString()));
    cluster.cancelJob(id).get();
    cluster.requestJobResult(id).get(60, TimeUnit.SECONDS);
    topics.delete(plan.getTopic());
    return new KeyCost(sizes.keys, cost, retainedBytes, checkpoint);
  }

  private static long usedBytes() {
    System.gc();
    return Runtime.getRuntime().totalMemory() - Runtime.getRuntime().freeMemory();
  }

  private static long size(Path folder) throws IOException {
    try (Stream<Path> files = Files.walk(folder)) {
      return files.mapToLong(file -> file.toFile().isFile() ? file.toFile().length() : 0).sum();
    }
  }

  /** A condition to wait for. */
  private interface Condition {
    boolean holds() throws Exception;
  }

  private static void await(Condition condition) throws Exception {
    long deadline = System.nanoTime() + LONGEST_RUN_SECONDS * 1_000_000_000L;
    while (!condition.holds()) {
      if (System.nanoTime() > deadline) {
        throw new IllegalStateException("timed out while waiting for the job");
      }
      Thread.sleep(POLL_MS);
    }
  }

  /**
   * Runs the stream job for the given time, with a producer that is always slightly ahead. Returns
   * the cost of each ten-second period, including the producer's cost.
   */
  public List<Cost> steady(Traffic.Kind kind, Sizes sizes, int seconds, int parallelism)
      throws Exception {
    Input input = new Input(kind, sizes.keys, sizes.tuplesPerSecond, 1, parallelism, false);
    Plan plan = plan(input, "bench-" + runs++);
    topics.create(
        plan.getTopic(),
        parallelism,
        Map.of("retention.bytes", "1073741824", "segment.bytes", "67108864"));
    JobID id = JobID.generate();
    cluster
        .submitJob(QueryJob.graph(plan, endpoints, options(1).withParallelism(parallelism), id))
        .get();
    List<Cost> periods = new AheadProducer(input, plan).run(seconds);
    cluster
        .requestJobResult(id)
        .get(LONGEST_RUN_SECONDS, TimeUnit.SECONDS)
        .toJobExecutionResult(StreamBenchmark.class.getClassLoader());
    topics.delete(plan.getTopic());
    return periods;
  }

  /** A producer that limits its lead over its consumer. */
  private final class AheadProducer {
    private final Plan plan;
    private final List<Batches> streams = new ArrayList<>();
    private final List<Cost> periods = new ArrayList<>();
    private long records;
    private long tuples;

    AheadProducer(Input input, Plan plan) {
      this.plan = plan;
      for (int i = 0; i < input.partitions; i++) {
        streams.add(new Batches(input.of(i), plan.getQuery(), "m" + i));
      }
    }

    List<Cost> run(int seconds) throws Exception {
      long begin = System.nanoTime();
      Cost last = new Cost(0, 0, SYSTEM.getProcessCpuTime() / 1e9);
      while (System.nanoTime() - begin < seconds * 1_000_000_000L) {
        for (int i = 0; i < streams.size(); i++) {
          tuples += streams.get(i).nextRows();
          records++;
          topics.send(plan.getTopic(), i, streams.get(i).next());
        }
        if (records % 64 == 0) {
          await(() -> records - position(plan) < MAX_AHEAD_RECORDS);
          Cost now = now(begin);
          if (now.seconds() - last.seconds() >= PERIOD_SECONDS) {
            periods.add(now.minus(last));
            print("the stream job, steady", now.minus(last));
            last = now;
          }
        }
      }
      for (int i = 0; i < streams.size(); i++) {
        topics.send(plan.getTopic(), i, streams.get(i).end());
      }
      topics.flush();
      await(() -> counted(plan) == tuples);
      return periods;
    }

    private Cost now(long begin) {
      double seconds = (System.nanoTime() - begin) / 1e9;
      return new Cost(counted(plan), seconds, SYSTEM.getProcessCpuTime() / 1e9);
    }
  }

  private long position(Plan plan) {
    return total(plan, "position");
  }

  private long counted(Plan plan) {
    return total(plan, "tuples");
  }

  private long total(Plan plan, String name) {
    try (Jedis redis = RedisClients.connect(endpoints.redis())) {
      String value = redis.hget("tapline:query:" + plan.getQuery() + ":totals", name);
      return value == null ? 0 : Long.parseLong(value);
    }
  }

  private Cost measure(Input input, long tuples, JobOptions options) throws Exception {
    Run run = count -> ours(input, count, options);
    Cost shorter = warm(run, tuples / 4, MAX_WARM_UPS);
    return run.over(tuples).minus(shorter);
  }

  /** One run of a job over a given number of tuples. */
  private interface Run {
    Cost over(long tuples) throws Exception;
  }

  /**
   * Repeats a run until it saves hardly any CPU time compared with the previous one. A JVM spends
   * the first minute or two of such runs compiling, which is irrelevant for long-running jobs.
   *
   * @param max maximum number of runs; the textbook job's runs take so long that one is enough for
   *     the warm-up
   * @return the cheapest run, which is the last or the one before it
   */
  private static Cost warm(Run run, long tuples, int max) throws Exception {
    Cost best = run.over(tuples);
    for (int i = 1; i < max; i++) {
      Cost next = run.over(tuples);
      boolean warm = next.cpuSeconds() > WARM * best.cpuSeconds();
      best = next.cpuSeconds() < best.cpuSeconds() ? next : best;
      if (warm) {
        break;
      }
    }
    return best;
  }

  /** The tuples of all partitions. */
  static final class Input {
    final Traffic.Kind kind;
    final int partitions;
    private final List<Traffic> traffic = new ArrayList<>();

    Input(
        Traffic.Kind kind,
        int keys,
        int tuplesPerSecond,
        int seconds,
        int partitions,
        boolean uniform) {
      this.kind = kind;
      this.partitions = partitions;
      int tuples = (int) ((long) tuplesPerSecond * seconds / partitions);
      for (int i = 0; i < partitions; i++) {
        traffic.add(Traffic.of(kind, seconds * 1_000_000_000L, tuples, keys, uniform, i));
      }
    }

    Traffic of(int partition) {
      return traffic.get(partition);
    }
  }

  /** The costs of the three jobs. */
  public record Comparison(String name, Cost textbook, Cost competent, Cost ours) {
    /** Returns the stream job's throughput as a multiple of another job's. */
    public double times(Cost baseline) {
      return ours.tuplesPerSecond() / baseline.tuplesPerSecond();
    }

    /** Returns another job's CPU time per tuple as a multiple of the stream job's. */
    public double cpuTimes(Cost baseline) {
      return baseline.cpuMicroseconds() / ours.cpuMicroseconds();
    }
  }

  private Cost baseline(Baseline job, Input input, long tuples) throws Exception {
    String topic = "baseline-" + runs++;
    topics.create(topic, input.partitions, Map.of());
    for (int partition = 0; partition < input.partitions; partition++) {
      Traffic traffic = input.of(partition);
      for (long i = 0; i < tuples / input.partitions; i++) {
        String json = traffic.json((int) (i % traffic.count), (int) (i / traffic.count));
        topics.send(topic, partition, json.getBytes(StandardCharsets.UTF_8));
      }
    }
    topics.flush();
    var source =
        job.source(endpoints.kafka(), topic).setBounded(OffsetsInitializer.latest()).build();
    Cost cost = run(graph(job, source, input, checkpoints(), topic), tuples);
    topics.delete(topic);
    print(job.label(), cost);
    return cost;
  }

  /** Returns a baseline's graph with a checkpoint every second. */
  static StreamGraph graph(
      Baseline job, KafkaSource<Event> source, Input input, String checkpoints, String run) {
    StreamExecutionEnvironment env = new StreamExecutionEnvironment();
    Configuration configuration = new Configuration();
    configuration.set(CheckpointingOptions.CHECKPOINTING_INTERVAL, Duration.ofSeconds(1));
    configuration.set(CheckpointingOptions.CHECKPOINT_STORAGE, "filesystem");
    configuration.set(CheckpointingOptions.CHECKPOINTS_DIRECTORY, checkpoints);
    env.configure(configuration);
    env.setParallelism(input.partitions);
    job.build(env, source, input.kind, run);
    StreamGraph graph = env.getStreamGraph();
    graph.setJobId(JobID.generate());
    return graph;
  }

  private Cost ours(Input input, long tuples, JobOptions options) throws Exception {
    Plan plan = plan(input, "bench-" + runs++);
    topics.create(plan.getTopic(), input.partitions, Map.of());
    long written = write(input, plan, tuples, true);
    JobID id = JobID.generate();
    Cost cost =
        run(
            QueryJob.graph(plan, endpoints, options.withParallelism(input.partitions), id),
            written);
    requireAll(plan, written);
    topics.delete(plan.getTopic());
    print("the stream job", cost);
    return cost;
  }

  private void print(String job, Cost cost) {
    progress.accept(
        String.format(
            Locale.ROOT,
            "%s: %,d tuples in %.1f s, %.1f s of CPU",
            job,
            cost.tuples(),
            cost.seconds(),
            cost.cpuSeconds()));
  }

  /**
   * Writes at least this many tuples and, if {@code ends}, the end of the stream. Returns the
   * number of tuples written.
   */
  private long write(Input input, Plan plan, long tuples, boolean ends) {
    long written = 0;
    for (int partition = 0; partition < input.partitions; partition++) {
      int target = partition;
      Batches batches = new Batches(input.of(partition), plan.getQuery(), "m" + partition);
      written +=
          batches.write(
              tuples / input.partitions, batch -> topics.send(plan.getTopic(), target, batch));
      if (ends) {
        topics.send(plan.getTopic(), partition, batches.end());
      }
    }
    topics.flush();
    return written;
  }

  /** Verifies that no tuple was lost, since a fast job must also be complete. */
  private void requireAll(Plan plan, long tuples) {
    if (counted(plan) != tuples) {
      throw new IllegalStateException(
          plan.getQuery() + " counted " + counted(plan) + " of " + tuples + " tuples");
    }
  }

  private JobOptions options(int checkpointSeconds) {
    return JobOptions.defaults()
        .withCheckpoints(Duration.ofSeconds(checkpointSeconds), checkpoints())
        .withRestartAttempts(0);
  }

  private String checkpoints() {
    return folder.resolve("checkpoints").toUri().toString();
  }

  private static Plan plan(Input input, String query) {
    return BenchPlan.of(input.kind, input.partitions, query);
  }

  private Cost run(StreamGraph graph, long tuples) throws Exception {
    System.gc();
    double cpu = SYSTEM.getProcessCpuTime();
    long start = System.nanoTime();
    cluster.submitJob(graph).get();
    cluster
        .requestJobResult(graph.getJobID())
        .get(LONGEST_RUN_SECONDS, TimeUnit.SECONDS)
        .toJobExecutionResult(StreamBenchmark.class.getClassLoader());
    double seconds = (System.nanoTime() - start) / 1e9;
    return new Cost(tuples, seconds, (SYSTEM.getProcessCpuTime() - cpu) / 1e9);
  }

  @Override
  public void close() throws Exception {
    topics.close();
    cluster.close();
  }
}
