package io.tapline.flink.results;

import io.tapline.flink.RedisClients;
import io.tapline.flink.RedisEndpoint;
import java.io.IOException;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import redis.clients.jedis.Jedis;
import redis.clients.jedis.exceptions.JedisAccessControlException;
import redis.clients.jedis.exceptions.JedisConnectionException;
import redis.clients.jedis.exceptions.JedisDataException;
import redis.clients.jedis.exceptions.JedisException;

/**
 * A connection to Redis that calls functions and survives short outages. Not thread-safe.
 *
 * <p>If there is a login, the control plane loads the functions and creates the user. A restarted
 * Redis server may briefly lack both, which also counts as an outage. Without a login, this class
 * loads the functions.
 */
final class RedisFunctions {
  private static final int TIMEOUT_MS = 5_000;
  private static final long FIRST_PAUSE_MS = 50;
  private static final long LONGEST_PAUSE_MS = 2_000;

  private final RedisEndpoint redis;
  private Jedis jedis;

  RedisFunctions(RedisEndpoint redis) {
    this.redis = redis;
  }

  /**
   * Connects.
   *
   * @param timeout how long to retry
   * @throws IOException if Redis can't be reached within that time, or does not support functions
   */
  void connect(Duration timeout) throws IOException, InterruptedException {
    retry(timeout, () -> {});
  }

  /**
   * Calls a function; retries after temporary errors until the timeout has passed.
   *
   * @param call function, number of keys, keys, arguments
   */
  void call(String[] call, Duration timeout) throws IOException, InterruptedException {
    int keys = Integer.parseInt(call[1]);
    List<String> keyList = Arrays.asList(call).subList(2, 2 + keys);
    List<String> arguments = Arrays.asList(call).subList(2 + keys, call.length);
    retry(timeout, () -> jedis.fcall(call[0], keyList, arguments));
  }

  private void retry(Duration timeout, Runnable action) throws IOException, InterruptedException {
    long deadline = System.nanoTime() + timeout.toNanos();
    long pause = FIRST_PAUSE_MS;
    while (true) {
      try {
        open();
        action.run();
        return;
      } catch (JedisException e) {
        close();
        if (!isTemporary(e) || System.nanoTime() > deadline) {
          throw failure(e);
        }
      }
      Thread.sleep(pause);
      pause = Math.min(2 * pause, LONGEST_PAUSE_MS);
    }
  }

  private void open() throws IOException {
    if (jedis == null) {
      jedis = RedisClients.connect(redis, TIMEOUT_MS);
      if (redis.login().isNone()) {
        RedisLibrary.load(jedis);
      }
    }
  }

  /**
   * Returns true for temporary errors: outages, startup, and a server that restarted without its
   * functions or users.
   */
  private static boolean isTemporary(JedisException e) {
    String message = String.valueOf(e.getMessage());
    return e instanceof JedisConnectionException
        || e instanceof JedisAccessControlException
        || message.startsWith("LOADING")
        || message.startsWith("BUSY")
        || message.startsWith("MASTERDOWN")
        || isMissing(message);
  }

  private static boolean isMissing(String message) {
    return message.startsWith("ERR Function not found");
  }

  private IOException failure(JedisException e) {
    String where = "Redis at " + redis.address();
    if (e instanceof JedisAccessControlException || isMissing(String.valueOf(e.getMessage()))) {
      return new IOException(
          "%s refused the job (%s): %s; %s"
              .formatted(where, redis.login(), e.getMessage(), advice()),
          e);
    } else if (e instanceof JedisDataException) {
      return new IOException(
          where + " refused a write: " + e.getMessage() + " (version 7.0 or later is needed)", e);
    }
    return new IOException(where + " cannot be reached. Is Redis running there?", e);
  }

  private String advice() {
    return redis.login().isNone()
        ? "pass --redis-login to the job, or --redis-password-file to the control plane"
        : "the control plane creates the jobs' users and loads their functions: run it with the"
            + " same --redis-password-file as before";
  }

  void close() {
    if (jedis != null) {
      jedis.close();
      jedis = null;
    }
  }
}
