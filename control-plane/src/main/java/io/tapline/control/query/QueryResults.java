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
 * Reads the results that queries' jobs write to Redis, under the keys of schema/redis.md.
 * Thread-safe. Every call except {@link #progress} throws a {@link
 * redis.clients.jedis.exceptions.JedisException} if Redis can't be reached.
 */
public final class QueryResults {
  private static final ObjectMapper MAPPER = new ObjectMapper();
  private static final int PAGE = 64;
  private static final int RECENT = 8;

  private final JedisPool pool;

  /** Creates a reader that uses the connections of a pool that the caller owns. */
  QueryResults(JedisPool pool) {
    this.pool = pool;
  }

  /** Returns the key of a query's windows. */
  static String windows(String id) {
    return QueryStore.key(id) + ":windows";
  }

  /**
   * Returns up to a page of the windows that follow the entry with the ID {@code cursor} in the
   * query's stream; {@code ""} stands for the stream's beginning.
   */
  public List<WindowResult> windowsAfter(String id, String cursor) {
    StreamEntryID start = cursor.isEmpty() ? new StreamEntryID() : new StreamEntryID(cursor);
    try (Jedis redis = pool.getResource()) {
      // The range start is exclusive: paging neither repeats nor misses an entry.
      List<StreamEntry> entries = redis.xrange(windows(id), "(" + start, "+", PAGE);
      return entries.stream().map(QueryResults::window).toList();
    }
  }

  /** Returns the number of stored windows. */
  public long windowCount(String id) {
    try (Jedis redis = pool.getResource()) {
      return redis.xlen(windows(id));
    }
  }

  /**
   * Returns the latest window of each processor that has one among the last {@link #RECENT}.
   * Windows of different processors that end together are adjacent.
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

  /** Returns the ID of the last window's entry; empty if there is none. */
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

  /**
   * Returns the counters over the whole query, as JSON numbers where they are numbers; empty before
   * the job has written any.
   */
  public ObjectNode totals(String id) {
    ObjectNode totals = MAPPER.createObjectNode();
    try (Jedis redis = pool.getResource()) {
      Map<String, String> fields = redis.hgetAll(QueryStore.key(id) + ":totals");
      // Removes the job's guard against reordering: readers have no use for it, and it is padded
      // with zeros, which JSON forbids.
      fields.remove("position");
      fields.forEach((name, value) -> totals.set(name, QueryStore.parse(value)));
    }
    return totals;
  }

  /** Returns two numbers: the records that the query's job has read, and the tuples in them. */
  public long[] taken(String id) {
    try (Jedis redis = pool.getResource()) {
      List<String> taken = redis.hmget(QueryStore.key(id) + ":totals", "position", "tuples");
      return taken.stream().mapToLong(text -> text == null ? 0 : Long.parseLong(text)).toArray();
    }
  }

  /**
   * Returns a value that changes as long as the query's job writes results. While Redis can't be
   * reached, every call returns a different value, since the job retries, and fails on its own if
   * the outage lasts.
   */
  public Object progress(String id) {
    // Uses one connection: threads that keep one while they wait for another can deadlock.
    try (Jedis redis = pool.getResource()) {
      return List.of(redis.hgetAll(QueryStore.key(id) + ":totals"), lastWindow(redis, id));
    } catch (JedisException e) {
      return new Object();
    }
  }
}
