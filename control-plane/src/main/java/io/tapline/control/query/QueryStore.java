package io.tapline.control.query;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.core.type.TypeReference;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.tapline.control.PipelineException;
import io.tapline.flink.Endpoints;
import io.tapline.flink.RedisClients;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.function.Function;
import java.util.function.Supplier;
import redis.clients.jedis.HostAndPort;
import redis.clients.jedis.Jedis;
import redis.clients.jedis.JedisPool;
import redis.clients.jedis.JedisPoolConfig;
import redis.clients.jedis.Pipeline;
import redis.clients.jedis.Response;
import redis.clients.jedis.StreamEntryID;
import redis.clients.jedis.exceptions.JedisDataException;
import redis.clients.jedis.exceptions.JedisException;
import redis.clients.jedis.resps.StreamEntry;

/**
 * Queries and their results in Redis, by the keys of schema/redis.md. Thread-safe. Every call may
 * throw a {@link redis.clients.jedis.exceptions.JedisException} where Redis can't be reached.
 */
final class QueryStore implements AutoCloseable {
  /** Written to see whether that can be done; gone after a second. */
  static final String PROBE = "tapline:probe";

  private static final String QUERIES = "tapline:queries";
  private static final ObjectMapper MAPPER = new ObjectMapper();
  private static final String[] FIELDS = {
    "text", "state", "submitted_ns", "started_ns", "ended_ns", "error", "notes"
  };
  private static final int PAGE = 64;
  private static final int RECENT = 8;
  private static final int TIMEOUT_MS = 2_000;

  private final JedisPool pool;

  /**
   * Keys of a Redis.
   *
   * @throws PipelineException if the files of TLS can't be read
   */
  QueryStore(Endpoints endpoints) throws PipelineException {
    JedisPoolConfig settings = new JedisPoolConfig();
    settings.setMaxTotal(64);
    // A connection that is broken since Redis was started anew is not given out.
    settings.setTestOnBorrow(true);
    settings.setMaxWait(Duration.ofSeconds(10));
    HostAndPort at = new HostAndPort(endpoints.redisHost(), endpoints.redisPort());
    try {
      this.pool =
          new JedisPool(settings, at, RedisClients.config(endpoints.redisTls(), TIMEOUT_MS));
    } catch (IOException e) {
      throw new PipelineException(PipelineException.Kind.USER, e.getMessage(), e);
    }
  }

  private static String key(String id) {
    return "tapline:query:" + id;
  }

  private static String windows(String id) {
    return key(id) + ":windows";
  }

  void add(QueryInfo query, String plan) {
    Map<String, String> fields = fields(query);
    fields.put("plan", plan);
    try (Jedis redis = pool.getResource()) {
      redis.hset(key(query.id()), fields);
      redis.zadd(QUERIES, query.submittedNs() / 1_000_000.0, query.id());
    }
  }

  /** Writes the query's present state and tells listeners. */
  void update(QueryInfo query) {
    try (Jedis redis = pool.getResource()) {
      redis.hset(key(query.id()), fields(query));
      ObjectNode event =
          MAPPER.createObjectNode().put("type", "state").put("state", query.state().text());
      redis.publish(key(query.id()) + ":events", event.toString());
    }
  }

  private static Map<String, String> fields(QueryInfo query) {
    Map<String, String> fields = new HashMap<>();
    fields.put("text", query.text());
    fields.put("state", query.state().text());
    fields.put("submitted_ns", Long.toString(query.submittedNs()));
    fields.put("started_ns", Long.toString(query.startedNs()));
    fields.put("ended_ns", Long.toString(query.endedNs()));
    fields.put("error", query.error());
    fields.put("notes", MAPPER.valueToTree(query.notes()).toString());
    return fields;
  }

  Optional<QueryInfo> find(String id) {
    try (Jedis redis = pool.getResource()) {
      return read(id, redis.hgetAll(key(id)));
    }
  }

  /** The plan as JSON; empty for an unknown query. */
  Optional<JsonNode> plan(String id) {
    try (Jedis redis = pool.getResource()) {
      return Optional.ofNullable(redis.hget(key(id), "plan")).map(QueryStore::parse);
    }
  }

  /**
   * Latest first, in two round trips however many they are.
   *
   * @param known what need not be read
   */
  List<QueryInfo> list(Function<String, Optional<QueryInfo>> known) {
    try (Jedis redis = pool.getResource();
        Pipeline pipeline = redis.pipelined()) {
      List<Supplier<Optional<QueryInfo>>> queries = new ArrayList<>();
      for (String id : redis.zrevrange(QUERIES, 0, -1)) {
        queries.add(known.apply(id).map(QueryStore::given).orElseGet(() -> asked(id, pipeline)));
      }
      pipeline.sync();
      return queries.stream().map(Supplier::get).flatMap(Optional::stream).toList();
    }
  }

  private static Supplier<Optional<QueryInfo>> given(QueryInfo query) {
    return () -> Optional.of(query);
  }

  /** All but the plan, which is longer than all the rest. */
  private static Supplier<Optional<QueryInfo>> asked(String id, Pipeline pipeline) {
    Response<List<String>> answer = pipeline.hmget(key(id), FIELDS);
    return () -> {
      Map<String, String> fields = new HashMap<>();
      for (int i = 0; i < FIELDS.length; i++) {
        if (answer.get().get(i) != null) {
          fields.put(FIELDS[i], answer.get().get(i));
        }
      }
      return read(id, fields);
    };
  }

  private static Optional<QueryInfo> read(String id, Map<String, String> fields) {
    if (fields.isEmpty()) {
      return Optional.empty();
    }
    List<String> notes = MAPPER.convertValue(parse(fields.get("notes")), new TypeReference<>() {});
    return Optional.of(
        new QueryInfo(
            id,
            fields.get("text"),
            QueryState.of(fields.get("state")),
            Long.parseLong(fields.get("submitted_ns")),
            Long.parseLong(fields.get("started_ns")),
            Long.parseLong(fields.get("ended_ns")),
            fields.get("error"),
            notes));
  }

  /**
   * Windows written after an entry of the query's stream ({@code ""}: from the beginning), at most
   * a page of them.
   */
  List<WindowResult> windowsAfter(String id, String after) {
    StreamEntryID from = after.isEmpty() ? new StreamEntryID() : new StreamEntryID(after);
    try (Jedis redis = pool.getResource()) {
      // An exclusive range start, so that paging neither repeats nor misses an entry.
      List<StreamEntry> entries = redis.xrange(windows(id), "(" + from, "+", PAGE);
      return entries.stream().map(QueryStore::window).toList();
    }
  }

  /** Windows that are kept. */
  long windowCount(String id) {
    try (Jedis redis = pool.getResource()) {
      return redis.xlen(windows(id));
    }
  }

  /**
   * The latest window of each processor that has one among the last {@link #RECENT}: those of all
   * processors that end together come one after the other.
   */
  List<WindowResult> latestWindows(String id) {
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
  String lastWindow(String id) {
    try (Jedis redis = pool.getResource()) {
      List<StreamEntry> last = redis.xrevrange(windows(id), "+", "-", 1);
      return last.isEmpty() ? "" : last.get(0).getID().toString();
    }
  }

  private static WindowResult window(StreamEntry entry) {
    Map<String, String> fields = entry.getFields();
    return new WindowResult(
        entry.getID().toString(),
        Integer.parseInt(fields.get("processor")),
        fields.get("name"),
        Long.parseLong(fields.get("window_start_ns")),
        Long.parseLong(fields.get("window_end_ns")),
        parse(fields.get("rows")),
        parse(fields.get("completeness")));
  }

  /** Counters over the whole query, numbers as numbers; empty before the job has written any. */
  ObjectNode totals(String id) {
    ObjectNode totals = MAPPER.createObjectNode();
    try (Jedis redis = pool.getResource()) {
      Map<String, String> fields = redis.hgetAll(key(id) + ":totals");
      // The job's own guard against overtaking: padded with zeros, no JSON, and nothing for
      // readers.
      fields.remove("position");
      fields.forEach((name, value) -> totals.set(name, parse(value)));
    }
    return totals;
  }

  /** Records that the query's job has read, and the tuples in them. */
  long[] taken(String id) {
    try (Jedis redis = pool.getResource()) {
      List<String> taken = redis.hmget(key(id) + ":totals", "position", "tuples");
      return taken.stream().mapToLong(text -> text == null ? 0 : Long.parseLong(text)).toArray();
    }
  }

  /** Changes as long as the query's job writes results. */
  Object progress(String id) {
    try (Jedis redis = pool.getResource()) {
      return List.of(redis.hgetAll(key(id) + ":totals"), lastWindow(id));
    }
  }

  /** Forgets a query and all of its results. */
  void remove(String id, int processors) {
    List<String> keys = new ArrayList<>(List.of(key(id), windows(id), key(id) + ":totals"));
    for (int p = 0; p < processors; p++) {
      keys.addAll(
          List.of(
              key(id) + ":ranking:" + p,
              key(id) + ":groups:" + p,
              key(id) + ":alerts:" + p,
              key(id) + ":last:" + p));
    }
    try (Jedis redis = pool.getResource()) {
      redis.zrem(QUERIES, id);
      redis.del(keys.toArray(String[]::new));
    }
  }

  static JsonNode parse(String json) {
    try {
      return MAPPER.readTree(json);
    } catch (JsonProcessingException e) {
      throw new IllegalStateException("Redis holds JSON that can't be read: " + json, e);
    }
  }

  /** Whether Redis answers. */
  boolean reachable() {
    try (Jedis redis = pool.getResource()) {
      return redis.ping().equals("PONG");
    } catch (JedisException e) {
      return false;
    }
  }

  /**
   * What is wrong with it; empty if it takes results. One that is full, or whose disk is, or that
   * follows another, answers and can be read.
   */
  String fault() {
    try (Jedis redis = pool.getResource()) {
      redis.psetex(PROBE, 1_000, "");
      return "";
    } catch (JedisDataException e) {
      return "takes no results: " + e.getMessage();
    } catch (JedisException e) {
      return "does not answer";
    }
  }

  @Override
  public void close() {
    pool.close();
  }
}
