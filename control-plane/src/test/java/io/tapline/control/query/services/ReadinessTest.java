package io.tapline.control.query.services;

import static org.assertj.core.api.Assertions.assertThat;

import io.tapline.control.JobKey;
import io.tapline.control.query.QueryStore;
import io.tapline.control.testing.TestRedis;
import io.tapline.flink.RedisEndpoint;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Supplier;
import org.junit.jupiter.api.Test;
import redis.clients.jedis.Jedis;

class ReadinessTest {
  /** Timeout that is never reached, for services that answer immediately. */
  private static final Duration LONG = Duration.ofMinutes(10);

  private static final Duration SHORT = Duration.ofMillis(200);

  @Test
  void reportsTheFaultOfEachService() {
    Map<String, Supplier<String>> services = new LinkedHashMap<>();
    services.put("kafka", () -> "");
    services.put("redis", () -> "is full");
    services.put(
        "flink",
        () -> {
          throw new IllegalStateException("no leader");
        });
    try (Readiness readiness = new Readiness(services, LONG)) {
      assertThat(readiness.faults())
          .containsExactly(
              Map.entry("kafka", ""),
              Map.entry("redis", "is full"),
              Map.entry("flink", "sent an unexpected response"));
      assertThat(readiness.lastFaults()).isEqualTo(readiness.faults());
    }
  }

  @Test
  void doesNotAwaitOrRepeatAnUnansweredCheck() throws Exception {
    CountDownLatch speak = new CountDownLatch(1);
    AtomicInteger checks = new AtomicInteger();
    Supplier<String> silent =
        () -> {
          checks.incrementAndGet();
          try {
            speak.await();
          } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
          }
          return "";
        };
    try (Readiness readiness = new Readiness(Map.of("kafka", silent), SHORT)) {
      assertThat(readiness.lastFaults()).as("not known yet").isEmpty();
      // Both calls return although the service has not answered yet.
      assertThat(readiness.faults()).containsEntry("kafka", "does not answer");
      assertThat(readiness.faults()).containsEntry("kafka", "does not answer");
      assertThat(checks).hasValue(1);
      assertThat(readiness.lastFaults()).containsEntry("kafka", "does not answer");
      speak.countDown();
    }
    try (Readiness readiness = new Readiness(Map.of("kafka", silent), LONG)) {
      assertThat(readiness.faults()).containsEntry("kafka", "");
    }
  }

  @Test
  void aFullRedisIsAFault() throws Exception {
    try (TestRedis redis = TestRedis.start();
        QueryStore store = new QueryStore(RedisEndpoint.parse(redis.address()), JobKey.random());
        Jedis admin = redis.client()) {
      assertThat(store.fault()).isEmpty();
      admin.configSet("maxmemory", "1");
      assertThat(store.silence()).as("it answers").isEmpty();
      assertThat(store.fault()).startsWith("accepts no results: OOM");
      admin.configSet("maxmemory", "0");
      assertThat(store.fault()).isEmpty();
      assertThat(admin.keys("*")).as("no lasting keys").isSubsetOf(QueryStore.PROBE);
      redis.close();
      assertThat(store.fault()).isEqualTo("does not answer");
    }
  }

  @Test
  void aRedisThatRefusesIsNotReportedAsSilent() throws Exception {
    try (TestRedis redis = TestRedis.start();
        QueryStore store = new QueryStore(RedisEndpoint.parse(redis.address()), JobKey.random());
        Jedis admin = redis.client()) {
      admin.configSet("requirepass", "a password");
      assertThat(store.silence()).contains(": NOAUTH ").contains("--redis-password-file");
      redis.close();
      assertThat(store.silence()).contains(": Connection refused; ");
    }
  }
}
