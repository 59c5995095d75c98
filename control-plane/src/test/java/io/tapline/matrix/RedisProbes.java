package io.tapline.matrix;

import io.tapline.flink.RedisClients;
import io.tapline.flink.RedisEndpoint;
import java.util.List;
import redis.clients.jedis.Jedis;
import redis.clients.jedis.exceptions.JedisAccessControlException;
import redis.clients.jedis.exceptions.JedisConnectionException;
import redis.clients.jedis.exceptions.JedisDataException;

/** Probes of the Redis server as a Redis client. */
final class RedisProbes {
  private static final int TIMEOUT_MS = 20_000;
  private static final List<String> REFUSALS = List.of("NOAUTH", "NOPERM", "WRONGPASS");

  /** A library without side effects, with a unique name. */
  private static final String LIBRARY =
      "#!lua name=matrix\nredis.register_function('matrix_probe', function() return 1 end)";

  private final Cluster cluster;

  RedisProbes(Cluster cluster) {
    this.cluster = cluster;
  }

  /** Tries an operation of the table. */
  void run(String operation, Component client, int port) throws Exception {
    try (Jedis redis = connect(client, port)) {
      run(operation, redis, client.role().equals("job"));
    } catch (JedisAccessControlException e) {
      throw new Refused(e.getMessage());
    } catch (JedisDataException e) {
      if (REFUSALS.stream().anyMatch(word -> String.valueOf(e.getMessage()).contains(word))) {
        throw new Refused(e.getMessage());
      }
      throw e;
    } catch (JedisConnectionException e) {
      throw new Refused(e.getMessage());
    }
  }

  /** Returns a connection with the client's certificate and login. */
  static Jedis connect(Component client, int port) throws Exception {
    RedisEndpoint endpoint =
        RedisEndpoint.open("redis", port).withTls(client.tls()).withLogin(client.redis());
    return RedisClients.connect(endpoint, TIMEOUT_MS);
  }

  private void run(String operation, Jedis redis, boolean asJob) {
    switch (operation) {
      case "ping" -> redis.ping();
      case "read-own-results" -> redis.hgetAll(key(cluster.own()) + ":totals");
      case "read-other-results" -> redis.hgetAll(key(cluster.other()) + ":totals");
      case "write-own-results" -> write(redis, cluster.own(), asJob);
      case "write-other-results" -> write(redis, cluster.other(), asJob);
      case "load-function" -> redis.functionLoadReplace(LIBRARY);
      case "set-user" -> setUser(redis);
      case "config" -> redis.configGet("maxmemory");
      case "keys" -> redis.keys("*");
      case "eval" -> redis.eval("return 1");
      case "flush" -> redis.flushAll();
      default -> throw new IllegalArgumentException("no probe for " + operation);
    }
  }

  /**
   * Writes totals at position 0 as a job, which have no effect once the job has written later ones.
   * Other clients write and delete a key.
   */
  private static void write(Jedis redis, String query, boolean asJob) {
    if (asJob) {
      redis.fcall(
          "tapline_totals",
          List.of(key(query) + ":totals"),
          List.of("0".repeat(20), "tuples", "0"));
    } else {
      redis.hset(key(query) + ":matrix", "probe", "1");
      redis.del(key(query) + ":matrix");
    }
  }

  private static void setUser(Jedis redis) {
    redis.aclSetUser("job-matrix", "reset");
    redis.aclDelUser("job-matrix");
  }

  private static String key(String query) {
    return "tapline:query:" + query;
  }
}
