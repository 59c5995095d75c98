package io.tapline.sim.streams;

import io.tapline.flink.Endpoints;
import io.tapline.flink.JobOptions;
import io.tapline.flink.job.QueryJob;
import io.tapline.schema.proto.Plan;
import io.tapline.sim.streams.StreamBenchmark.Input;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadInfo;
import java.lang.management.ThreadMXBean;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.NavigableMap;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Consumer;
import org.apache.flink.api.common.JobID;
import org.apache.flink.runtime.minicluster.MiniCluster;
import org.apache.flink.streaming.api.graph.StreamGraph;

/**
 * Compares the baselines and the stream job on input from a producer that, like a monitor, sends a
 * fixed number of tuples per second. Measures CPU time per tuple once the job is warm, excluding
 * the producer's threads. The cost is meaningless for a job that does not keep pace. Compares the
 * rankings of all three jobs window by window.
 */
public final class PacedComparison {
  private static final int WARM_UP_SECONDS = 10;
  private static final int MAX_SECONDS_BEHIND = 3;
  private static final long TICK_NS = 20_000_000;

  /**
   * Topic settings: keep all records until a slow job has read them, and free the space of a
   * deleted topic immediately.
   */
  private static final Map<String, String> LOG =
      Map.of("retention.ms", "-1", "segment.bytes", "67108864", "file.delete.delay.ms", "1000");

  private static final com.sun.management.OperatingSystemMXBean SYSTEM =
      (com.sun.management.OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean();

  private final Endpoints endpoints;
  private final MiniCluster cluster;
  private final Topics topics;
  private final String checkpoints;
  private final Consumer<String> progress;

  PacedComparison(
      Endpoints endpoints,
      MiniCluster cluster,
      Topics topics,
      String checkpoints,
      Consumer<String> progress) {
    this.endpoints = endpoints;
    this.cluster = cluster;
    this.topics = topics;
    this.checkpoints = checkpoints;
    this.progress = progress;
  }

  /**
   * The result of one job.
   *
   * @param keptPace true if the job was at most a few seconds behind at the end
   */
  public record PacedResult(String job, Cost cost, boolean keptPace) {}

  /**
   * The results of all jobs.
   *
   * @param equalWindows number of windows whose rankings were compared and found equal
   */
  public record Result(
      String name, int tuplesPerSecond, List<PacedResult> jobs, int equalWindows) {}

  Result run(Input input, int rate, int seconds, String run) throws Exception {
    List<PacedResult> jobs = new ArrayList<>();
    for (Baseline job : Baseline.values()) {
      jobs.add(baseline(job, input, rate, seconds, run + "-" + job));
    }
    String query = run + "-ours";
    jobs.add(ours(input, rate, seconds, query));
    NavigableMap<Long, double[]> expected = Rankings.of(run + "-" + Baseline.TEXTBOOK);
    int windows =
        Math.min(
            equal("the competent job", expected, Rankings.of(run + "-" + Baseline.COMPETENT)),
            equal("the stream job", expected, Rankings.ofQuery(endpoints, query)));
    return new Result(input.kind.label(), rate, jobs, windows);
  }

  private static int equal(
      String job, NavigableMap<Long, double[]> expected, NavigableMap<Long, double[]> actual) {
    int windows = Rankings.requireEqual(job, expected, actual);
    if (windows == 0) {
      throw new IllegalStateException(job + " and the textbook job have no window in common");
    }
    return windows;
  }

  private PacedResult baseline(Baseline job, Input input, int rate, int seconds, String run)
      throws Exception {
    topics.create(run, input.partitions, LOG);
    StreamGraph graph =
        StreamBenchmark.graph(
            job, job.source(endpoints.kafka(), run).build(), input, checkpoints, run);
    JsonFeed feed = new JsonFeed(run, input);
    return measure(job.label(), graph, feed, rate, seconds, () -> newestMs(Rankings.of(run)));
  }

  private PacedResult ours(Input input, int rate, int seconds, String query) throws Exception {
    Plan plan = BenchPlan.of(input.kind, input.partitions, query);
    topics.create(plan.getTopic(), input.partitions, LOG);
    JobID id = JobID.generate();
    JobOptions options =
        JobOptions.defaults()
            .withCheckpoints(Duration.ofSeconds(1), checkpoints)
            .withRestartAttempts(0)
            .withParallelism(input.partitions);
    StreamGraph graph = QueryJob.graph(plan, endpoints, options, id);
    BatchFeed feed = new BatchFeed(plan, input);
    return measure(
        "the stream job",
        graph,
        feed,
        rate,
        seconds,
        () -> newestMs(Rankings.ofQuery(endpoints, query)));
  }

  private static long newestMs(NavigableMap<Long, double[]> rankings) {
    return rankings.isEmpty() ? 0 : rankings.lastKey();
  }

  /** Reads the end of the newest window that a job has reported. */
  private interface LatestWindow {
    long endMs() throws Exception;
  }

  private PacedResult measure(
      String job, StreamGraph graph, Feed feed, int rate, int seconds, LatestWindow newest)
      throws Exception {
    cluster.submitJob(graph).get();
    feed.send(rate, WARM_UP_SECONDS);
    Cost previousCost = now(feed);
    feed.send(rate, seconds);
    Cost cost = now(feed).minus(previousCost);
    long behindMs = feed.timeMs() - newest.endMs();
    cluster.cancelJob(graph.getJobID()).get();
    while (!cluster.getJobStatus(graph.getJobID()).get().isGloballyTerminalState()) {
      Thread.sleep(20);
    }
    topics.delete(feed.topic);
    boolean keptPace = behindMs < MAX_SECONDS_BEHIND * 1000L;
    progress.accept(
        String.format(
            Locale.ROOT,
            "%s at %,d tuples/s: %.2f µs of CPU per tuple, %.1f s behind at the end",
            job,
            rate,
            cost.cpuMicroseconds(),
            behindMs / 1e3));
    return new PacedResult(job, cost, keptPace);
  }

  private static Cost now(Feed feed) {
    double cpu = SYSTEM.getProcessCpuTime() / 1e9 - producerCpuSeconds();
    return new Cost(feed.sent, System.nanoTime() / 1e9, cpu);
  }

  /**
   * Returns the CPU time of this thread, which creates the tuples, and of Kafka's sender threads.
   */
  private static double producerCpuSeconds() {
    ThreadMXBean threads = ManagementFactory.getThreadMXBean();
    long nanos = threads.getCurrentThreadCpuTime();
    for (ThreadInfo info : threads.getThreadInfo(threads.getAllThreadIds())) {
      if (info != null && info.getThreadName().startsWith("kafka-producer-network-thread")) {
        nanos += Math.max(0, threads.getThreadCpuTime(info.getThreadId()));
      }
    }
    return nanos / 1e9;
  }

  /** Sends tuples at a fixed rate; their timestamps advance with the clock. */
  private abstract class Feed {
    final String topic;
    long sent;
    private long due;

    Feed(String topic) {
      this.topic = topic;
    }

    void send(int rate, int seconds) {
      long begin = System.nanoTime();
      long startNs = due;
      due += (long) rate * seconds;
      while (sent < due) {
        long now = System.nanoTime() - begin;
        long until = Math.min(due, startNs + (long) (now / 1e9 * rate));
        while (sent < until) {
          sent += sendSome();
        }
        LockSupport.parkNanos(TICK_NS);
      }
      topics.flush();
    }

    /** Sends some tuples to each partition and returns their number. */
    abstract int sendSome();

    /** Returns the time up to which tuples were sent to every partition. */
    abstract long timeMs();
  }

  /** Sends one JSON object per tuple. */
  private final class JsonFeed extends Feed {
    private final Input input;
    private long next;

    JsonFeed(String topic, Input input) {
      super(topic);
      this.input = input;
    }

    @Override
    int sendSome() {
      for (int partition = 0; partition < input.partitions; partition++) {
        Traffic traffic = input.of(partition);
        String json = traffic.json((int) (next % traffic.count), (int) (next / traffic.count));
        topics.send(topic, partition, json.getBytes(StandardCharsets.UTF_8));
      }
      next++;
      return input.partitions;
    }

    @Override
    long timeMs() {
      Traffic traffic = input.of(0);
      return traffic.timeNs((int) (next % traffic.count), (int) (next / traffic.count)) / 1_000_000;
    }
  }

  /** Sends batches as monitors do. */
  private final class BatchFeed extends Feed {
    private final List<Batches> streams = new ArrayList<>();
    private final Input input;

    BatchFeed(Plan plan, Input input) {
      super(plan.getTopic());
      this.input = input;
      for (int i = 0; i < input.partitions; i++) {
        streams.add(new Batches(input.of(i), plan.getQuery(), "m" + i));
      }
    }

    @Override
    int sendSome() {
      int rows = 0;
      for (int i = 0; i < streams.size(); i++) {
        rows += streams.get(i).nextRows();
        topics.send(topic, i, streams.get(i).next());
      }
      return rows;
    }

    @Override
    long timeMs() {
      Traffic traffic = input.of(0);
      long perPartition = sent / input.partitions;
      return traffic.timeNs(
              (int) (perPartition % traffic.count), (int) (perPartition / traffic.count))
          / 1_000_000;
    }
  }
}
