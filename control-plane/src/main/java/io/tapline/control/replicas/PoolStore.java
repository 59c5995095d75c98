package io.tapline.control.replicas;

import io.tapline.flink.RedisClients;
import io.tapline.flink.RedisEndpoint;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import redis.clients.jedis.Jedis;
import redis.clients.jedis.Transaction;
import redis.clients.jedis.params.XAddParams;

/**
 * Stores in Redis which servers have which pages (schema/redis.md, "Pools"). Changes are rare, so
 * each call opens its own connection. Thread-safe.
 */
final class PoolStore {
  private static final int CHANGES_KEPT = 1000;

  private final RedisEndpoint endpoint;
  private final String key;

  PoolStore(Pool pool) {
    this.endpoint = RedisEndpoint.parse(pool.redis());
    this.key = "tapline:pool:" + pool.name();
  }

  /**
   * Returns, by URL, the addresses of the servers that have the page. Pages that only the first
   * server has are not included.
   */
  Map<String, List<String>> read() {
    try (Jedis redis = RedisClients.connect(endpoint)) {
      Map<String, List<String>> places = new LinkedHashMap<>();
      redis.hgetAll(key).forEach((url, servers) -> places.put(url, List.of(servers.split(" "))));
      return places;
    }
  }

  /** Replaces all page locations atomically. */
  void write(Map<String, List<String>> places) {
    try (Jedis redis = RedisClients.connect(endpoint)) {
      Transaction all = redis.multi();
      all.del(key);
      places.forEach((url, servers) -> all.hset(key, url, String.join(" ", servers)));
      all.exec();
    }
  }

  void note(Change change) {
    Map<String, String> fields =
        Map.of(
            "time_ns", Long.toString(change.timeNs()),
            "servers", Integer.toString(change.servers()),
            "pages", Integer.toString(change.pages()),
            "reason", change.reason());
    try (Jedis redis = RedisClients.connect(endpoint)) {
      redis.xadd(key + ":changes", fields, XAddParams.xAddParams().maxLen(CHANGES_KEPT));
    }
  }
}
