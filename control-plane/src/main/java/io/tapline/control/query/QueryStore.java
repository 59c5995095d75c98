package io.tapline.control.query;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.core.type.TypeReference;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.tapline.control.JobKey;
import io.tapline.control.PipelineException;
import io.tapline.control.query.events.EventStore;
import io.tapline.control.query.services.RedisAccess;
import io.tapline.flink.RedisClients;
import io.tapline.flink.RedisEndpoint;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Function;
import java.util.function.Supplier;
import redis.clients.jedis.Jedis;
import redis.clients.jedis.JedisPool;
import redis.clients.jedis.JedisPoolConfig;
import redis.clients.jedis.Pipeline;
import redis.clients.jedis.Response;
import redis.clients.jedis.exceptions.JedisAccessControlException;
import redis.clients.jedis.exceptions.JedisDataException;
import redis.clients.jedis.exceptions.JedisException;

/**
 * Queries and their results in Redis, under the keys of schema/redis.md. Thread-safe. Calls other
 * than {@link #silence} and {@link #fault} may throw a {@link
 * redis.clients.jedis.exceptions.JedisException} if Redis can't be reached.
 */
public final class QueryStore implements AutoCloseable {
  /** Key written to test that writes work; it expires after a second. */
  public static final String PROBE = "tapline:probe";

  private static final String QUERIES = "tapline:queries";
  private static final ObjectMapper MAPPER = new ObjectMapper();
  private static final String[] FIELDS = {
    "text", "state", "submitted_ns", "started_ns", "ended_ns", "error", "notes"
  };
  private static final int TIMEOUT_MS = 2_000;

  private final RedisEndpoint redis;
  private final JedisPool pool;
  private final RedisAccess access;

  /**
   * Creates a store in this Redis.
   *
   * @param jobKey key from which job passwords are derived
   * @throws PipelineException if the TLS files can't be read
   */
  public QueryStore(RedisEndpoint redis, JobKey jobKey) throws PipelineException {
    JedisPoolConfig settings = new JedisPoolConfig();
    settings.setMaxTotal(64);
    // Tests connections before they are used, since they break when Redis restarts.
    settings.setTestOnBorrow(true);
    settings.setMaxWait(Duration.ofSeconds(10));
    this.redis = redis;
    try {
      pool = RedisClients.pool(redis, settings, TIMEOUT_MS);
    } catch (IOException e) {
      throw new PipelineException(PipelineException.Kind.USER, e.getMessage(), e);
    }
    access = new RedisAccess(redis.login(), jobKey, pool);
  }

  /** Returns the key of the query itself, which is the prefix of all its other keys. */
  static String key(String id) {
    return "tapline:query:" + id;
  }

  /** Returns the manager of jobs' users and functions in Redis. */
  public RedisAccess access() {
    return access;
  }

  /** Returns the results that queries' jobs write. */
  public QueryResults results() {
    return new QueryResults(pool);
  }

  /** Returns queries' event logs. */
  public EventStore events() {
    return new EventStore(pool);
  }

  public void add(QueryInfo query, String plan) {
    Map<String, String> fields = fields(query);
    fields.put("plan", plan);
    try (Jedis redis = pool.getResource()) {
      redis.hset(key(query.id()), fields);
      redis.zadd(QUERIES, query.submittedNs() / 1_000_000.0, query.id());
    }
  }

  /** Writes the query's current state and notifies listeners. */
  public void update(QueryInfo query) {
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

  public Optional<QueryInfo> find(String id) {
    try (Jedis redis = pool.getResource()) {
      return read(id, redis.hgetAll(key(id)));
    }
  }

  /** Returns the plan as JSON; empty for an unknown query. */
  public Optional<JsonNode> plan(String id) {
    try (Jedis redis = pool.getResource()) {
      return Optional.ofNullable(redis.hget(key(id), "plan")).map(QueryStore::parse);
    }
  }

  /**
   * Returns the queries, latest first, in two round trips regardless of their number.
   *
   * @param known returns the query with an ID if it need not be read from Redis
   */
  public List<QueryInfo> list(Function<String, Optional<QueryInfo>> known) {
    try (Jedis redis = pool.getResource();
        Pipeline pipeline = redis.pipelined()) {
      List<Supplier<Optional<QueryInfo>>> queries = new ArrayList<>();
      for (String id : redis.zrevrange(QUERIES, 0, -1)) {
        queries.add(
            known.apply(id).map(QueryStore::available).orElseGet(() -> fromPipeline(id, pipeline)));
      }
      pipeline.sync();
      return queries.stream().map(Supplier::get).flatMap(Optional::stream).toList();
    }
  }

  private static Supplier<Optional<QueryInfo>> available(QueryInfo query) {
    return () -> Optional.of(query);
  }

  /** Requests everything but the plan, which is larger than all other fields combined. */
  private static Supplier<Optional<QueryInfo>> fromPipeline(String id, Pipeline pipeline) {
    Response<List<String>> response = pipeline.hmget(key(id), FIELDS);
    return () -> {
      Map<String, String> fields = new HashMap<>();
      for (int i = 0; i < FIELDS.length; i++) {
        if (response.get().get(i) != null) {
          fields.put(FIELDS[i], response.get().get(i));
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

  /** Removes a query and all of its results. */
  public void remove(String id, int processors) {
    List<String> keys =
        new ArrayList<>(
            List.of(key(id), QueryResults.windows(id), EventStore.key(id), key(id) + ":totals"));
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
      throw new IllegalStateException("Redis contains invalid JSON: " + json, e);
    }
  }

  /**
   * Loads the functions that jobs call, if they are missing. Returns a user-facing reason why Redis
   * can't be used; empty if it can. Opens its own connection, since the pool hides the reasons.
   */
  public String silence() {
    try (Jedis own = RedisClients.connect(redis, TIMEOUT_MS)) {
      own.ping();
      access.prepare(own);
      return "";
    } catch (IOException e) {
      return e.getMessage();
    } catch (JedisAccessControlException e) {
      return "Redis at %s refused the control plane with %s: %s; check --redis-user and --redis-password-file, and the user's rights (schema/redis.acl)"
          .formatted(redis.address(), redis.login(), e.getMessage());
    } catch (JedisException e) {
      String message = first(e).getMessage();
      return "can't use Redis at %s: %s; check that it is running and that the address is right"
          .formatted(
              redis.address(), message == null ? "no answer" : message.replaceFirst("\\.$", ""));
    }
  }

  /**
   * Returns the root cause. Jedis attaches it as a suppressed exception if a name has several
   * addresses.
   */
  private static Throwable first(Throwable e) {
    Throwable next = e;
    Throwable first = e;
    while (next != null) {
      first = next;
      next = first.getSuppressed().length > 0 ? first.getSuppressed()[0] : first.getCause();
    }
    return first;
  }

  /**
   * Returns what is wrong with Redis; empty if it accepts results. Tests this with a write, because
   * a Redis that is out of memory or disk space, or that is a replica, still answers reads.
   */
  public String fault() {
    try (Jedis redis = pool.getResource()) {
      redis.psetex(PROBE, 1_000, "");
      return "";
    } catch (JedisDataException e) {
      return "accepts no results: " + e.getMessage();
    } catch (JedisException e) {
      return "does not answer";
    }
  }

  @Override
  public void close() {
    access.close();
    pool.close();
  }
}
