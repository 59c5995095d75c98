package io.tapline.sim.streams;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.tapline.flink.Endpoints;
import io.tapline.flink.JobOptions;
import io.tapline.flink.RedisClients;
import io.tapline.flink.job.QueryJob;
import io.tapline.schema.BatchWriter;
import io.tapline.schema.BatchWriter.ColumnSpec;
import io.tapline.schema.Plans;
import io.tapline.schema.proto.Accounting;
import io.tapline.schema.proto.Column.Type;
import io.tapline.schema.proto.Plan;
import io.tapline.schema.proto.TupleBatch;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.function.DoubleConsumer;
import org.apache.flink.api.common.JobID;
import org.apache.flink.runtime.minicluster.MiniCluster;
import redis.clients.jedis.Jedis;
import redis.clients.jedis.resps.StreamEntry;

/**
 * Runs a query with {@code SAMPLE auto} whose job is limited to a share of the load by a Kafka
 * quota, until the load falls below the quota. The rate controller, the broker, the stream job and
 * Redis are real. The monitor is a producer that samples flows by their hash, at the latest rate
 * that it received, and counts the dropped tuples.
 *
 * <p>The results are the rate, the job's lag, and the number of windows in which the true values
 * were within the job's bounds. Time is the wall clock. Not thread-safe.
 */
public final class HeldConsumer {
  private static final String QUERY = "held";
  private static final int URLS = 1_000;
  private static final int TUPLES_A_FLOW = 3;
  private static final int FLUSH_MS = 100;
  private static final long WINDOW_NS = 2_000_000_000L;
  private static final int ROWS = 10;
  private static final List<ColumnSpec> COLUMNS =
      List.of(
          new ColumnSpec("time_ns", Type.I64, "ns"),
          new ColumnSpec("flow_hash", Type.U64, ""),
          new ColumnSpec("url", Type.STRING, ""));

  private static final int BEGIN_S = 10;

  private final int seconds;
  private final int quietSeconds;
  private final int tuplesPerSecond;
  private final double share;
  private final Zipf zipf = new Zipf(URLS);
  private final Random random = new Random(1);
  private final Map<Long, Map<String, Long>> sent = new HashMap<>();
  private final List<Second> course = new ArrayList<>();
  private volatile double rate = 1;
  private long sequence;
  private long fullBytes;

  /**
   * Creates the experiment.
   *
   * @param quietSeconds additional seconds, in which the load is half of the job's quota
   * @param share share of the load that the job may read
   */
  public HeldConsumer(int seconds, int quietSeconds, int tuplesPerSecond, double share) {
    this.seconds = seconds;
    this.quietSeconds = quietSeconds;
    this.tuplesPerSecond = tuplesPerSecond;
    this.share = share;
  }

  /** Reads the job's progress: records written, records read, and tuples in the records read. */
  public interface Gauge {
    long[] look() throws Exception;
  }

  /** Starts the component that watches a gauge and sends rates. */
  public interface Controller {
    AutoCloseable start(Gauge gauge, DoubleConsumer limit);
  }

  /**
   * The measurements of one second.
   *
   * @param load tuples per second before sampling
   */
  public record Second(int second, double rate, double lagSeconds, double load) {}

  /**
   * The results.
   *
   * @param rows number of compared estimates; {@code rowsWithin} counts those whose bounds contain
   *     the truth
   * @param windows number of windows with compared rows; {@code windowsWithin} counts those with
   *     all rows within bounds
   */
  public record Outcome(
      List<Second> course, int rows, int rowsWithin, int windows, int windowsWithin) {}

  /** Runs the experiment. */
  public Outcome run(Endpoints endpoints, Path folder, Controller controller) throws Exception {
    Plan plan = plan();
    try (Topics topics = new Topics(endpoints.kafka());
        Jedis redis = RedisClients.connect(endpoints.redis());
        MiniCluster cluster = StreamBenchmark.cluster(folder, 1)) {
      topics.create(plan.getTopic(), 1, Map.of());
      JobID id = JobID.generate();
      cluster.submitJob(QueryJob.graph(plan, endpoints, JobOptions.defaults(), id)).get();
      Gauge gauge = () -> look(endpoints);
      try (AutoCloseable watching = controller.start(gauge, newRate -> rate = newRate)) {
        feed(topics, plan.getTopic(), gauge);
      }
      cluster.cancelJob(id).get();
      return outcome(redis);
    }
  }

  private static Plan plan() {
    return Plans.fromJson(
        """
        {"format":1,"query":"%s","epoch":1,"parsers":["http_get"],"topic":"tapline.tuples.%s",
         "monitors":[{"id":"m0","partition":0}],
         "processors":[{"name":"top-k","parser":"http_get","key":["url"],
           "value":{"count":{},"unit":"count"},"ranking":{"k":%d},
           "window":{"size":"2s","slide":"2s"}}]}"""
            .formatted(QUERY, QUERY, ROWS));
  }

  private long[] look(Endpoints endpoints) {
    try (Jedis redis = RedisClients.connect(endpoints.redis())) {
      Map<String, String> totals = redis.hgetAll("tapline:query:" + QUERY + ":totals");
      long read = Long.parseLong(totals.getOrDefault("position", "0"));
      return new long[] {sequence, read, Long.parseLong(totals.getOrDefault("tuples", "0"))};
    }
  }

  private static long nowNs() {
    Instant now = Instant.now();
    return now.getEpochSecond() * 1_000_000_000L + now.getNano();
  }

  private void feed(Topics topics, String topic, Gauge gauge) throws Exception {
    long begin = nowNs();
    long first = begin;
    int second = 0;
    boolean paused = false;
    for (long now = begin; second < seconds + quietSeconds; now = nowNs()) {
      Thread.sleep(FLUSH_MS);
      double load = second < seconds ? tuplesPerSecond : tuplesPerSecond * share / 2;
      byte[] batch = batch(first, now, load);
      topics.send(topic, 0, batch);
      first = now;
      if ((now - begin) / 1_000_000_000L > second) {
        second++;
        long[] seen = gauge.look();
        course.add(
            new Second(second, rate, (seen[0] - seen[1]) * (now - begin) / 1e9 / sequence, load));
      }
      if (!paused && second == BEGIN_S) {
        paused = true;
        topics.holdConsumers(share * fullBytes / BEGIN_S);
      }
      fullBytes += paused ? 0 : batch.length;
    }
    topics.flush();
  }

  /**
   * Generates and counts the tuples since the last batch; returns a batch of those whose flows the
   * rate includes.
   */
  private byte[] batch(long fromNs, long toNs, double load) {
    double now = rate;
    BatchWriter writer = new BatchWriter(COLUMNS);
    int flows = (int) ((toNs - fromNs) / 1e9 * load / TUPLES_A_FLOW);
    for (int flow = 0; flow < flows; flow++) {
      long hash = random.nextLong();
      String url = "/page/" + zipf.next(random);
      long time = fromNs + (toNs - fromNs) * flow / flows;
      sent.computeIfAbsent(Math.floorDiv(time, WINDOW_NS), window -> new HashMap<>())
          .merge(url, (long) TUPLES_A_FLOW, Long::sum);
      // Uses different bits from those that the job uses to group flows.
      boolean isKept = (hash * 0x9e3779b97f4a7c15L >>> 11) * 0x1p-53 < now;
      for (int i = 0; isKept && i < TUPLES_A_FLOW; i++) {
        writer.row(time, hash, url);
      }
    }
    return writer
        .write(
            TupleBatch.newBuilder()
                .setFormat(1)
                .setQuery(QUERY)
                .setMonitor("m0")
                .setIncarnation(1)
                .setEpoch(1)
                .setParser("http_get")
                .setSequence(sequence++)
                .setWatermarkNs(toNs)
                .setSamplingRate(now)
                .setAccounting(Accounting.newBuilder().setTuplesIn(writer.rows())))
        .toByteArray();
  }

  private Outcome outcome(Jedis redis) throws IOException {
    int[] counts = new int[4];
    boolean isFirst = true;
    for (StreamEntry entry : redis.xrange("tapline:query:" + QUERY + ":windows", "-", "+")) {
      long window = Long.parseLong(entry.getFields().get("window_start_ns")) / WINDOW_NS;
      JsonNode rows = new ObjectMapper().readTree(entry.getFields().get("rows"));
      // Skips the first window, which began before the load, and windows without drops, which are
      // exact.
      boolean exact = rows.isEmpty() || rows.get(0).get("low").equals(rows.get(0).get("high"));
      if (!isFirst && !exact) {
        compare(rows, sent.get(window), counts);
      }
      isFirst = false;
    }
    return new Outcome(course, counts[0], counts[1], counts[2], counts[3]);
  }

  private static void compare(JsonNode rows, Map<String, Long> truth, int[] counts) {
    boolean all = true;
    for (JsonNode row : rows) {
      long value = truth.get(row.at("/key/url").asText());
      boolean within = value >= row.get("low").asDouble() && value <= row.get("high").asDouble();
      counts[0]++;
      counts[1] += within ? 1 : 0;
      all &= within;
    }
    counts[2]++;
    counts[3] += all ? 1 : 0;
  }
}
