package io.tapline.control.query;

import static org.assertj.core.api.Assertions.assertThat;

import io.tapline.control.testing.TestRedis;
import java.time.Duration;
import java.util.Map;
import org.junit.jupiter.api.Test;
import redis.clients.jedis.DefaultJedisClientConfig;
import redis.clients.jedis.HostAndPort;
import redis.clients.jedis.Jedis;
import redis.clients.jedis.JedisPool;
import redis.clients.jedis.JedisPoolConfig;
import redis.clients.jedis.StreamEntryID;

class QueryResultsTest {
  private static final String WINDOWS = QueryResults.windows("q-1");

  private static JedisPool pool(TestRedis redis, int connections) {
    JedisPoolConfig settings = new JedisPoolConfig();
    settings.setMaxTotal(connections);
    settings.setMaxWait(Duration.ofMillis(200));
    settings.setTestOnBorrow(true);
    return new JedisPool(
        settings, HostAndPort.from(redis.address()), DefaultJedisClientConfig.builder().build());
  }

  /**
   * Tests that reading the progress takes only one connection. When a server stops, as many queries
   * as there are connections may read it at the same time; if each needed a second one, all would
   * wait.
   */
  @Test
  void progressIsReadOverOneConnection() throws Exception {
    try (TestRedis redis = TestRedis.start();
        Jedis job = redis.client();
        JedisPool pool = pool(redis, 1)) {
      QueryResults results = new QueryResults(pool);
      Object previousProgress = results.progress("q-1");
      assertThat(results.progress("q-1")).isEqualTo(previousProgress);
      job.xadd(WINDOWS, StreamEntryID.NEW_ENTRY, Map.of("processor", "0"));
      Object written = results.progress("q-1");
      assertThat(written).isNotEqualTo(previousProgress).isEqualTo(results.progress("q-1"));
      job.hset(QueryStore.key("q-1") + ":totals", "packets_in", "7");
      assertThat(results.progress("q-1")).isNotEqualTo(written);
    }
  }

  @Test
  void anUnreachableRedisIsNotMistakenForAStalledJob() throws Exception {
    try (TestRedis redis = TestRedis.start();
        JedisPool pool = pool(redis, 1)) {
      QueryResults results = new QueryResults(pool);
      redis.close();
      assertThat(results.progress("q-1")).isNotEqualTo(results.progress("q-1"));
    }
  }
}
