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
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.apache.flink.api.common.JobID;
import org.apache.flink.runtime.minicluster.MiniCluster;
import redis.clients.jedis.Jedis;
import redis.clients.jedis.JedisPubSub;

/**
 * Measures the latency from a packet to the alert that it triggers. The trigger evaluates windows
 * of 10 ms of packet time, which equals the wall clock here. Two monitors send batches at the usual
 * interval, each with the same load of other tuples. From time to time, each monitor sees half of a
 * burst; only both halves together meet the condition.
 *
 * <p>A latency is the time from the end of the burst's window, the earliest time at which the burst
 * can be known, to the message on Redis's channel. The stream job, the broker and Redis are real.
 */
public final class AlertLatency {
  private static final int MONITORS = 2;
  private static final int URLS = 10_000;
  private static final int HALF_BURST = 40;
  private static final int THRESHOLD = 60;
  private static final long WINDOW_NS = 10_000_000;
  private static final long SETTLE_NS = 20_000_000_000L;
  private static final long LAST_CALL_NS = 3_000_000_000L;
  private static final String QUERY = "alerts";
  private static final List<ColumnSpec> COLUMNS =
      List.of(
          new ColumnSpec("time_ns", Type.I64, "ns"),
          new ColumnSpec("flow_hash", Type.U64, ""),
          new ColumnSpec("url", Type.STRING, ""));

  private final int seconds;
  private final int flushMs;
  private final int burstMs;
  private final int tuplesPerSecond;
  private final long[] sequences = new long[MONITORS];
  private final Random random = new Random(1);

  /** Arrival time of each burst's alert, by the end of the burst's window. */
  private final Map<Long, Long> arrivals = new ConcurrentHashMap<>();

  private final List<Long> expected = new ArrayList<>();

  /**
   * Creates the experiment.
   *
   * @param seconds duration of the measurement
   * @param flushMs interval at which a monitor sends tuples
   * @param burstMs interval between bursts
   * @param tuplesPerSecond load of both monitors together, excluding the bursts
   */
  public AlertLatency(int seconds, int flushMs, int burstMs, int tuplesPerSecond) {
    this.seconds = seconds;
    this.flushMs = flushMs;
    this.burstMs = burstMs;
    this.tuplesPerSecond = tuplesPerSecond;
  }

  /**
   * The results.
   *
   * @param latenciesMs latencies of the alerts that arrived, ascending
   * @param missed bursts without an alert
   */
  public record Outcome(List<Double> latenciesMs, int missed) {
    /** Returns a percentile. */
    public double percentile(double percent) {
      int place = (int) Math.ceil(percent / 100 * latenciesMs.size()) - 1;
      return latenciesMs.get(Math.max(0, place));
    }
  }

  /** Runs the experiment. */
  public Outcome run(Endpoints endpoints, Path folder) throws Exception {
    Plan plan = plan();
    try (Topics topics = new Topics(endpoints.kafka());
        MiniCluster cluster = StreamBenchmark.cluster(folder, MONITORS);
        Jedis redis = RedisClients.connect(endpoints.redis())) {
      topics.create(plan.getTopic(), MONITORS, Map.of());
      Listener listener = listen(redis);
      JobID id = JobID.generate();
      JobOptions options =
          JobOptions.defaults()
              .withCheckpoints(
                  Duration.ofSeconds(1), folder.resolve("checkpoints").toUri().toString());
      cluster
          .submitJob(QueryJob.graph(plan, endpoints, options.withParallelism(MONITORS), id))
          .get();
      feed(plan, topics);
      cluster.requestJobResult(id).get(60, TimeUnit.SECONDS);
      listener.end();
    }
    return outcome();
  }

  private static Plan plan() {
    return Plans.fromJson(
        """
        {"format":1,"query":"%s","epoch":1,"parsers":["http_get"],"topic":"tapline.tuples.%s",
         "monitors":[{"id":"m0","partition":0},{"id":"m1","partition":1}],
         "processors":[{"name":"trigger","parser":"http_get","key":["url"],
           "value":{"count":{},"unit":"count"},"window":{"size":"0.010s","slide":"0.010s"},
           "condition":{"threshold":%d},"trigger":{"clear":%d,"severity":"critical"}}]}"""
            .formatted(QUERY, QUERY, THRESHOLD, THRESHOLD));
  }

  private static long nowNs() {
    Instant now = Instant.now();
    return now.getEpochSecond() * 1_000_000_000L + now.getNano();
  }

  /** Receives alerts on its own thread. */
  private final class Listener extends JedisPubSub {
    private final ObjectMapper mapper = new ObjectMapper();
    private final CountDownLatch ready = new CountDownLatch(1);
    private Thread thread;

    void end() throws InterruptedException {
      unsubscribe();
      thread.join(10_000);
    }

    @Override
    public void onSubscribe(String channel, int channels) {
      ready.countDown();
    }

    @Override
    public void onMessage(String channel, String message) {
      long now = nowNs();
      try {
        JsonNode row = mapper.readTree(message);
        if (row.at("/alert/state").asText().equals("raised")) {
          arrivals.putIfAbsent(row.get("window_end_ns").asLong(), now);
        }
      } catch (IOException e) {
        throw new IllegalStateException("an alert is not JSON: " + message, e);
      }
    }
  }

  private Listener listen(Jedis redis) throws InterruptedException {
    Listener listener = new Listener();
    Thread thread =
        new Thread(() -> redis.subscribe(listener, "tapline:query:" + QUERY + ":alerts"), "alerts");
    thread.setDaemon(true);
    listener.thread = thread;
    thread.start();
    if (!listener.ready.await(30, TimeUnit.SECONDS)) {
      throw new IllegalStateException("Redis does not answer");
    }
    return listener;
  }

  private void feed(Plan plan, Topics topics) throws InterruptedException {
    long begin = nowNs();
    long end = begin + SETTLE_NS + seconds * 1_000_000_000L;
    long sent = begin;
    long nextBurst = begin + SETTLE_NS;
    long burst = -1;
    for (long now = begin; now < end + LAST_CALL_NS; now = nowNs()) {
      while (burst < 0 && nextBurst < now && nextBurst < end) {
        burst = nextBurst;
        nextBurst += (long) (burstMs * 1e6 * (0.5 + random.nextDouble()));
      }
      for (int monitor = 0; monitor < MONITORS; monitor++) {
        topics.send(plan.getTopic(), monitor, batch(monitor, sent, now, burst));
      }
      sent = now;
      burst = -1;
      Thread.sleep(flushMs);
    }
    for (int monitor = 0; monitor < MONITORS; monitor++) {
      topics.send(
          plan.getTopic(),
          monitor,
          header(monitor, sent).setEndOfStream(true).build().toByteArray());
    }
    topics.flush();
  }

  /** Returns a monitor's tuples since its last batch, including half a burst if one is due. */
  private byte[] batch(int monitor, long fromNs, long toNs, long burstNs) {
    BatchWriter writer = new BatchWriter(COLUMNS);
    long windowNs = Math.floorDiv(Math.max(fromNs, burstNs), WINDOW_NS) * WINDOW_NS;
    boolean pending = burstNs >= 0;
    if (pending && monitor == 0) {
      expected.add(windowNs + WINDOW_NS);
    }
    int rows = (int) ((toNs - fromNs) / 1e9 * tuplesPerSecond / MONITORS);
    for (int row = 0; row < rows; row++) {
      long time = fromNs + (toNs - fromNs) * row / rows;
      if (pending && time >= windowNs) {
        pending = burst(writer, windowNs, Math.max(windowNs, fromNs), toNs);
      }
      writer.row(time, random.nextLong(), "/page/" + random.nextInt(URLS));
    }
    if (pending) {
      burst(writer, windowNs, Math.max(windowNs, fromNs), toNs);
    }
    return writer
        .write(
            header(monitor, toNs).setAccounting(Accounting.newBuilder().setTuplesIn(writer.rows())))
        .toByteArray();
  }

  private boolean burst(BatchWriter writer, long windowNs, long atNs, long toNs) {
    String url = "/burst/" + windowNs;
    for (int i = 0; i < HALF_BURST; i++) {
      writer.row(Math.min(atNs, toNs), random.nextLong(), url);
    }
    return false;
  }

  private TupleBatch.Builder header(int monitor, long markNs) {
    return TupleBatch.newBuilder()
        .setFormat(1)
        .setQuery(QUERY)
        .setMonitor("m" + monitor)
        .setIncarnation(1)
        .setEpoch(1)
        .setParser("http_get")
        .setSequence(sequences[monitor]++)
        .setWatermarkNs(markNs)
        .setSamplingRate(1);
  }

  private Outcome outcome() {
    List<Double> latencies =
        expected.stream()
            .filter(arrivals::containsKey)
            .map(end -> (arrivals.get(end) - end) / 1e6)
            .sorted()
            .toList();
    return new Outcome(latencies, expected.size() - latencies.size());
  }
}
