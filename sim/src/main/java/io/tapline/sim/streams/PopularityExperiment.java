package io.tapline.sim.streams;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.tapline.flink.Endpoints;
import io.tapline.flink.JobOptions;
import io.tapline.flink.RedisClients;
import io.tapline.flink.job.QueryJob;
import io.tapline.schema.Plans;
import io.tapline.schema.proto.Plan;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;
import org.apache.flink.api.common.JobID;
import org.apache.flink.runtime.minicluster.MiniCluster;
import redis.clients.jedis.Jedis;
import redis.clients.jedis.resps.StreamEntry;

/**
 * Reproduces NetAlytics' Figure 16: the popularity of the second and third most popular keys over
 * time, as measured by a top-k query minute by minute, on a scale where each minute's most popular
 * key has 100.
 *
 * <p>The requests come from {@link HotSet} and pass through a real broker, the stream job and
 * Redis. Every resulting count is compared with the sent requests.
 */
public final class PopularityExperiment {
  private static final long MINUTE_NS = 60_000_000_000L;
  private static final int RANKS = 100;
  private static final String QUERY = "popularity";

  private final int minutes;
  private final int requestsPerMinute;
  private final int[] keys;

  /**
   * The results of one minute.
   *
   * @param second popularity of the key that ranks second over all minutes; 0 if it is not in this
   *     minute's top 100
   * @param secondKey the second most popular key of this minute
   */
  public record Minute(
      int minute, double second, double third, String mostKey, String secondKey, String thirdKey) {}

  /** All minutes, and the keys that rank second and third over all of them. */
  public record Popularity(String second, String third, List<Minute> minutes) {}

  /**
   * Creates the experiment.
   *
   * @param keys number of keys
   */
  public PopularityExperiment(int minutes, int requestsPerMinute, int keys, long seed) {
    this.minutes = minutes;
    this.requestsPerMinute = requestsPerMinute;
    this.keys = new int[minutes * requestsPerMinute];
    HotSet hot = new HotSet(keys, seed);
    for (int minute = 0; minute < minutes; minute++) {
      hot.minute(this.keys, minute * requestsPerMinute, (minute + 1) * requestsPerMinute);
    }
  }

  /** Sends all requests and reads the windows. */
  public Popularity run(Endpoints endpoints, Path folder) throws Exception {
    Plan plan = plan();
    // Windows are aligned to the epoch, as are the minutes.
    Traffic traffic = Traffic.ofRequests(minutes * MINUTE_NS, keys);
    try (Topics topics = new Topics(endpoints.kafka());
        MiniCluster cluster = StreamBenchmark.cluster(folder, 1)) {
      topics.create(plan.getTopic(), 1, Map.of());
      Batches batches = new Batches(traffic, QUERY, "m0");
      batches.write(keys.length, batch -> topics.send(plan.getTopic(), 0, batch));
      topics.send(plan.getTopic(), 0, batches.end());
      topics.flush();
      JobID id = JobID.generate();
      cluster.submitJob(QueryJob.graph(plan, endpoints, JobOptions.defaults(), id)).get();
      cluster
          .requestJobResult(id)
          .get(10, TimeUnit.MINUTES)
          .toJobExecutionResult(PopularityExperiment.class.getClassLoader());
    }
    return popularity(windows(endpoints));
  }

  private static Plan plan() {
    return Plans.fromJson(
        """
        {"format":1,"query":"%s","epoch":1,"parsers":["http_get"],"topic":"tapline.tuples.%s",
         "monitors":[{"id":"m0","partition":0}],
         "processors":[{"name":"top-k","parser":"http_get","key":["url"],
           "value":{"count":{},"unit":"count"},"ranking":{"k":%d},
           "window":{"size":"60s","slide":"60s"}}]}"""
            .formatted(QUERY, QUERY, RANKS));
  }

  /** Returns the counts by key of each window, highest first. */
  private static List<Map<String, Long>> windows(Endpoints endpoints) throws IOException {
    List<Map<String, Long>> windows = new ArrayList<>();
    String stream = "tapline:query:" + QUERY + ":windows";
    try (Jedis redis = RedisClients.connect(endpoints.redis())) {
      for (StreamEntry entry : redis.xrange(stream, "-", "+")) {
        Map<String, Long> counts = new LinkedHashMap<>();
        for (JsonNode row : new ObjectMapper().readTree(entry.getFields().get("rows"))) {
          counts.put(row.get("key").get("url").asText(), row.get("value").asLong());
        }
        windows.add(counts);
      }
    }
    return windows;
  }

  private Popularity popularity(List<Map<String, Long>> windows) {
    require(windows);
    Map<String, Long> total = new HashMap<>();
    windows.forEach(window -> window.forEach((key, count) -> total.merge(key, count, Long::sum)));
    List<String> order =
        total.entrySet().stream()
            .sorted(Map.Entry.<String, Long>comparingByValue().reversed())
            .map(Map.Entry::getKey)
            .toList();
    List<Minute> rows = new ArrayList<>();
    for (int i = 0; i < windows.size(); i++) {
      Map<String, Long> window = windows.get(i);
      List<String> ranks = List.copyOf(window.keySet());
      double max = window.get(ranks.get(0));
      double second = 100 * window.getOrDefault(order.get(1), 0L) / max;
      double third = 100 * window.getOrDefault(order.get(2), 0L) / max;
      rows.add(new Minute(i, second, third, ranks.get(0), ranks.get(1), ranks.get(2)));
    }
    return new Popularity(order.get(1), order.get(2), rows);
  }

  /** Verifies that the results match the requests. */
  private void require(List<Map<String, Long>> windows) {
    // The first request is at BASE_NS, which may be in the middle of a minute.
    Map<Long, Map<String, Long>> sent = new TreeMap<>();
    Traffic traffic = Traffic.ofRequests(minutes * MINUTE_NS, keys);
    for (int i = 0; i < traffic.count; i++) {
      sent.computeIfAbsent(traffic.timeNs(i, 0) / MINUTE_NS, minute -> new HashMap<>())
          .merge(traffic.url(i), 1L, Long::sum);
    }
    List<Map<String, Long>> expected = List.copyOf(sent.values());
    if (expected.size() != windows.size()) {
      throw new IllegalStateException(
          windows.size() + " windows were written for " + expected.size() + " minutes");
    }
    for (int i = 0; i < windows.size(); i++) {
      for (Map.Entry<String, Long> row : windows.get(i).entrySet()) {
        if (!row.getValue().equals(expected.get(i).get(row.getKey()))) {
          throw new IllegalStateException("minute " + i + ": " + row + " was not sent");
        }
      }
    }
  }

  /** Returns the total number of requests. */
  public int requests() {
    return minutes * requestsPerMinute;
  }
}
