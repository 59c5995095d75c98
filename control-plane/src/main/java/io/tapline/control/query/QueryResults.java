package io.tapline.control.query;

import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import redis.clients.jedis.Jedis;
import redis.clients.jedis.JedisPool;
import redis.clients.jedis.StreamEntryID;
import redis.clients.jedis.exceptions.JedisException;
import redis.clients.jedis.resps.StreamEntry;

/**
 * What queries' jobs write to Redis, by the keys of schema/redis.md, to be read. Thread-safe. Every
 * call may throw a {@link redis.clients.jedis.exceptions.JedisException} where Redis can't be
 * reached.
 */
public final class QueryResults {
  private static final ObjectMapper MAPPER = new ObjectMapper();
  private static final int PAGE = 64;
  private static final int RECENT = 8;

  private final JedisPool pool;

  /** Through these connections, which somebody else closes. */
  QueryResults(JedisPool pool) {
    this.pool = pool;
  }

  /** Where a query's windows are. */
  static String windows(String id) {
    return QueryStore.key(id) + ":windows";
  }

  /**
   * Windows written after an entry of the query's stream ({@code ""}: from the beginning), at most
   * a page of them.
   */
  public List<WindowResult> windowsAfter(String id, String after) {
    StreamEntryID from = after.isEmpty() ? new StreamEntryID() : new StreamEntryID(after);
    try (Jedis redis = pool.getResource()) {
      // An exclusive range start, so that paging neither repeats nor misses an entry.
      List<StreamEntry> entries = redis.xrange(windows(id), "(" + from, "+", PAGE);
      return entries.stream().map(QueryResults::window).toList();
    }
  }

  /** Windows that are kept. */
  public long windowCount(String id) {
    try (Jedis redis = pool.getResource()) {
      return redis.xlen(windows(id));
    }
  }

  /**
   * The latest window of each processor that has one among the last {@link #RECENT}: those of all
   * processors that end together come one after the other.
   */
  public List<WindowResult> latestWindows(String id) {
    Map<Integer, WindowResult> latest = new TreeMap<>();
    try (Jedis redis = pool.getResource()) {
      for (StreamEntry entry : redis.xrevrange(windows(id), "+", "-", RECENT)) {
        int processor = Integer.parseInt(entry.getFields().get("processor"));
        if (!latest.containsKey(processor)) {
          latest.put(processor, window(entry));
        }
      }
    }
    return List.copyOf(latest.values());
  }

  /** The last window's entry; empty where there is none. */
  public String lastWindow(String id) {
    try (Jedis redis = pool.getResource()) {
      return lastWindow(redis, id);
    }
  }

  private static String lastWindow(Jedis redis, String id) {
    List<StreamEntry> last = redis.xrevrange(windows(id), "+", "-", 1);
    return last.isEmpty() ? "" : last.get(0).getID().toString();
  }

  private static WindowResult window(StreamEntry entry) {
    Map<String, String> fields = entry.getFields();
    return new WindowResult(
        entry.getID().toString(),
        Integer.parseInt(fields.get("processor")),
        fields.get("name"),
        Long.parseLong(fields.get("window_start_ns")),
        Long.parseLong(fields.get("window_end_ns")),
        QueryStore.parse(fields.get("rows")),
        QueryStore.parse(fields.get("completeness")));
  }

  /** Counters over the whole query, numbers as numbers; empty before the job has written any. */
  public ObjectNode totals(String id) {
    ObjectNode totals = MAPPER.createObjectNode();
    try (Jedis redis = pool.getResource()) {
      Map<String, String> fields = redis.hgetAll(QueryStore.key(id) + ":totals");
      // The job's own guard against overtaking: padded with zeros, no JSON, and nothing for
      // readers.
      fields.remove("position");
      fields.forEach((name, value) -> totals.set(name, QueryStore.parse(value)));
    }
    return totals;
  }

  /** Records that the query's job has read, and the tuples in them. */
  long[] taken(String id) {
    try (Jedis redis = pool.getResource()) {
      List<String> taken = redis.hmget(QueryStore.key(id) + ":totals", "position", "tuples");
      return taken.stream().mapToLong(text -> text == null ? 0 : Long.parseLong(text)).toArray();
    }
  }

  /**
   * Changes as long as the query's job writes results, and, without an exception, where Redis can't
   * be reached: the job tries again then, and fails by itself if that lasts.
   */
  Object progress(String id) {
    // By one connection: who has one and waits for another may wait for its like.
    try (Jedis redis = pool.getResource()) {
      return List.of(redis.hgetAll(QueryStore.key(id) + ":totals"), lastWindow(redis, id));
    } catch (JedisException e) {
      return new Object();
    }
  }
}
