package io.tapline.flink.results;

import static org.assertj.core.api.Assertions.assertThat;

import io.tapline.flink.RedisEndpoint;
import io.tapline.flink.support.Deadline;
import io.tapline.flink.support.RedisServer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import redis.clients.jedis.Jedis;
import redis.clients.jedis.JedisPubSub;

/** Tests the Lua library on a real Redis server. */
class RedisFunctionsTest {
  private static final Duration TIMEOUT = Duration.ofSeconds(10);
  private static RedisServer redis;

  @BeforeAll
  static void start() throws Exception {
    redis = new RedisServer();
  }

  @AfterAll
  static void stop() throws Exception {
    redis.close();
  }

  private static String[] window(String id, long end, String... rows) {
    List<String> call = new java.util.ArrayList<>(List.of("tapline_window", "4"));
    for (String key : List.of("last:0", "ranking:0", "groups:0", "windows")) {
      call.add(id + ":" + key);
    }
    call.addAll(List.of("%020d".formatted(end), "3", id + ":events", "0", "top-k"));
    call.addAll(List.of(Long.toString(end - 10), Long.toString(end), "{}"));
    call.addAll(List.of(rows));
    return call.toArray(String[]::new);
  }

  @Test
  void aWindowReplacesThePreviousOneAndRepeatsAreIgnored() throws Exception {
    RedisFunctions functions = new RedisFunctions(RedisEndpoint.open("127.0.0.1", redis.port()));
    functions.call(window("a", 999, "/x", "5", "{\"v\":5}", "/y", "3", "{\"v\":3}"), TIMEOUT);
    functions.call(window("a", 1000, "/z", "9007199254740991", "{\"v\":1}"), TIMEOUT);
    functions.call(window("a", 1000, "/other", "1", "{}"), TIMEOUT);
    functions.call(window("a", 999, "/other", "1", "{}"), TIMEOUT);
    try (Jedis jedis = redis.client()) {
      assertThat(jedis.zrevrange("a:ranking:0", 0, -1)).containsExactly("/z");
      assertThat(jedis.zscore("a:ranking:0", "/z")).isEqualTo(9007199254740991d);
      assertThat(jedis.hgetAll("a:groups:0")).hasSize(1).containsEntry("/z", "{\"v\":1}");
      assertThat(jedis.xlen("a:windows")).isEqualTo(2);
      assertThat(jedis.get("a:last:0")).isEqualTo("00000000000000001000");
      String rows = jedis.xrange("a:windows", "-", "+").get(0).getFields().get("rows");
      assertThat(rows).isEqualTo("[{\"v\":5},{\"v\":3}]");
    } finally {
      functions.close();
    }
  }

  @Test
  void aGroupWithoutAValueHasARowAndNoScore() throws Exception {
    RedisFunctions functions = new RedisFunctions(RedisEndpoint.open("127.0.0.1", redis.port()));
    functions.call(window("e", 10, "/x", "5", "{\"v\":5}", "/dead", "", "{\"v\":null}"), TIMEOUT);
    functions.close();
    try (Jedis jedis = redis.client()) {
      assertThat(jedis.zrange("e:ranking:0", 0, -1)).containsExactly("/x");
      assertThat(jedis.hgetAll("e:groups:0")).containsEntry("/dead", "{\"v\":null}");
      assertThat(jedis.xrange("e:windows", "-", "+").get(0).getFields().get("rows"))
          .isEqualTo("[{\"v\":5},{\"v\":null}]");
    }
  }

  /** Tests the documented example, which is all that authors of third-party dashboards have. */
  @Test
  void theProgramInTheDocumentShowsALiveRanking(@TempDir Path directory) throws Exception {
    Path document = Path.of(System.getProperty("tapline.root", "..")).resolve("schema/redis.md");
    String script = Files.readString(document).split("```sh\n")[1].split("```")[0];
    Path file = directory.resolve("ranking.sh");
    Files.writeString(file, script.replace("redis-cli", "redis-cli -p " + redis.port()));
    Path shown = directory.resolve("shown");
    RedisFunctions functions = new RedisFunctions(RedisEndpoint.open("127.0.0.1", redis.port()));
    functions.call(window("tapline:query:q1", 10, "/a", "5", "{}"), TIMEOUT);
    Process program =
        new ProcessBuilder("setpriv", "--pdeathsig", "KILL", "sh", file.toString(), "q1", "0")
            .redirectErrorStream(true)
            .redirectOutput(shown.toFile())
            .start();
    try {
      String first = "window that ends at 00000000000000000010 ns\n/a\t5\n";
      Deadline.await("a ranking", () -> Files.readString(shown).equals(first));
      functions.call(window("tapline:query:q1", 20, "/a", "2", "{}", "/b", "7", "{}"), TIMEOUT);
      String second = "window that ends at 00000000000000000020 ns\n/b\t7\n/a\t2\n";
      Deadline.await("the next one", () -> Files.readString(shown).equals(first + second));
    } finally {
      functions.close();
      program.descendants().forEach(ProcessHandle::destroyForcibly);
      program.destroyForcibly().waitFor();
    }
  }

  @Test
  void theStreamKeepsTheLatestWindowsOnly() throws Exception {
    RedisFunctions functions = new RedisFunctions(RedisEndpoint.open("127.0.0.1", redis.port()));
    for (int end = 10; end <= 100; end += 10) {
      functions.call(window("b", end, "/x", "5", "{}"), TIMEOUT);
    }
    functions.close();
    try (Jedis jedis = redis.client()) {
      assertThat(jedis.xlen("b:windows")).isEqualTo(3);
    }
  }

  @Test
  void olderTotalsDoNotReplaceNewerOnes() throws Exception {
    RedisFunctions functions = new RedisFunctions(RedisEndpoint.open("127.0.0.1", redis.port()));
    for (String position : List.of("09", "10", "08")) {
      functions.call(
          new String[] {"tapline_totals", "1", "c:totals", position, "tuples", position}, TIMEOUT);
    }
    functions.close();
    try (Jedis jedis = redis.client()) {
      assertThat(jedis.hgetAll("c:totals"))
          .containsEntry("tuples", "10")
          .containsEntry("position", "10");
    }
  }

  @Test
  void subscribersAreNotifiedOfEachWindowOnce() throws Exception {
    BlockingQueue<String> messages = new LinkedBlockingQueue<>();
    JedisPubSub listener =
        new JedisPubSub() {
          @Override
          public void onMessage(String channel, String message) {
            messages.add(message);
          }
        };
    Thread thread =
        new Thread(
            () -> {
              try (Jedis jedis = redis.client()) {
                jedis.subscribe(listener, "d:events");
              }
            });
    thread.start();
    Deadline.await("the subscription", listener::isSubscribed);
    RedisFunctions functions = new RedisFunctions(RedisEndpoint.open("127.0.0.1", redis.port()));
    functions.call(window("d", 10), TIMEOUT);
    functions.call(window("d", 10), TIMEOUT);
    functions.call(window("d", 20), TIMEOUT);
    functions.close();
    assertThat(messages.poll(10, TimeUnit.SECONDS))
        .isEqualTo("{\"type\":\"window\",\"processor\":0,\"window_end_ns\":10}");
    assertThat(messages.poll(10, TimeUnit.SECONDS)).contains("\"window_end_ns\":20");
    listener.unsubscribe();
    thread.join();
  }
}
