package io.tapline.sim.streams;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.tapline.flink.Endpoints;
import io.tapline.flink.RedisClients;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.NavigableMap;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentSkipListMap;
import redis.clients.jedis.Jedis;
import redis.clients.jedis.resps.StreamEntry;

/**
 * The values of each window's ranking, highest first, by the window's end in ms. Keys are omitted,
 * since those tied for the last rank may differ from job to job.
 *
 * <p>The baselines run in this process and store their rankings here; the stream job's rankings are
 * read from Redis. Thread-safe.
 */
final class Rankings {
  private static final Map<String, NavigableMap<Long, double[]>> RUNS = new ConcurrentHashMap<>();
  private static final double NS = 1;

  private Rankings() {}

  static void put(String run, long endMs, Collection<Double> values) {
    double[] sorted = values.stream().mapToDouble(value -> -value).sorted().toArray();
    for (int i = 0; i < sorted.length; i++) {
      sorted[i] = -sorted[i];
    }
    of(run).put(endMs, sorted);
  }

  static NavigableMap<Long, double[]> of(String run) {
    return RUNS.computeIfAbsent(run, name -> new ConcurrentSkipListMap<>());
  }

  static NavigableMap<Long, double[]> ofQuery(Endpoints endpoints, String query)
      throws IOException {
    ObjectMapper mapper = new ObjectMapper();
    NavigableMap<Long, double[]> rankings = new ConcurrentSkipListMap<>();
    try (Jedis redis = RedisClients.connect(endpoints.redis())) {
      for (StreamEntry entry : redis.xrange("tapline:query:" + query + ":windows", "-", "+")) {
        List<Double> values = new ArrayList<>();
        for (JsonNode row : mapper.readTree(entry.getFields().get("rows"))) {
          values.add(row.get("value").asDouble());
        }
        long endMs = Long.parseLong(entry.getFields().get("window_end_ns")) / 1_000_000;
        rankings.put(endMs, values.stream().mapToDouble(Double::doubleValue).toArray());
      }
    }
    return rankings;
  }

  /**
   * Compares the windows that both rankings have; returns the number of these windows.
   *
   * @throws IllegalStateException if a window differs by at least a nanosecond or a tuple
   */
  static int requireEqual(
      String what, NavigableMap<Long, double[]> expected, NavigableMap<Long, double[]> actual) {
    int windows = 0;
    for (Map.Entry<Long, double[]> entry : expected.entrySet()) {
      double[] actualRow = actual.get(entry.getKey());
      if (actualRow == null) {
        continue;
      }
      windows++;
      if (!isEqual(entry.getValue(), actualRow)) {
        throw new IllegalStateException(
            "%s: the window that ends at %d ms has %s, the textbook job %s"
                .formatted(what, entry.getKey(), List.of(actualRow), List.of(entry.getValue())));
      }
    }
    return windows;
  }

  private static boolean isEqual(double[] a, double[] b) {
    boolean equal = a.length == b.length;
    for (int i = 0; equal && i < a.length; i++) {
      equal = Math.abs(a[i] - b[i]) < NS;
    }
    return equal;
  }
}
