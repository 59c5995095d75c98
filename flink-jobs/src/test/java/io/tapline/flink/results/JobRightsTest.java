package io.tapline.flink.results;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatCode;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowable;

import io.tapline.flink.Login;
import io.tapline.flink.RedisClients;
import io.tapline.flink.RedisEndpoint;
import io.tapline.flink.support.RedisServer;
import io.tapline.schema.RedisAcl;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import redis.clients.jedis.Jedis;
import redis.clients.jedis.exceptions.JedisAccessControlException;
import redis.clients.jedis.exceptions.JedisDataException;

/** Tests the rights of a query's job on a real Redis server, with the rules of schema/redis.acl. */
class JobRightsTest {
  private static final Duration NO_RETRY = Duration.ZERO;
  private static final Duration TIMEOUT = Duration.ofSeconds(30);
  private static final String PASSWORD = "password of a-1";
  private static final Pattern RULE = Pattern.compile("(?:[+&~]|%R?W?~)[^\\s()]+");

  private static RedisServer redis;

  @BeforeAll
  static void start() throws Exception {
    redis = new RedisServer();
  }

  @AfterAll
  static void stop() throws Exception {
    redis.close();
  }

  @BeforeEach
  void grant() {
    try (Jedis admin = redis.client()) {
      admin.flushAll();
      RedisLibrary.load(admin);
      setUser(admin, String.join(" ", RedisAcl.jobRules("a-1", PASSWORD)));
    }
  }

  private static void setUser(Jedis admin, String rules) {
    admin.aclSetUser(RedisAcl.jobUser("a-1"), rules.split(" +"));
  }

  private static RedisEndpoint endpoint() {
    return RedisEndpoint.open("127.0.0.1", redis.port())
        .withLogin(new Login(RedisAcl.jobUser("a-1"), PASSWORD));
  }

  private static String key(String query, String suffix) {
    return "tapline:query:" + query + ":" + suffix;
  }

  private static String[] window(String query, String channels, int end) {
    List<String> call = new ArrayList<>(List.of("tapline_window", "4"));
    for (String suffix : List.of("last:0", "ranking:0", "groups:0", "windows")) {
      call.add(key(query, suffix));
    }
    call.addAll(List.of("%020d".formatted(end), "3", key(channels, "events"), "0", "top-k"));
    call.addAll(List.of("0", Integer.toString(end), "{}", "/x", "5", "{}"));
    return call.toArray(String[]::new);
  }

  private static String[] alerts(String query, int end) {
    List<String> call = new ArrayList<>(List.of("tapline_alerts", "3"));
    for (String suffix : List.of("last:1", "alerts:1", "windows")) {
      call.add(key(query, suffix));
    }
    call.addAll(List.of("%020d".formatted(end), "3", key(query, "events"), key(query, "alerts")));
    call.addAll(List.of("1", "trigger", "0", Integer.toString(end), "{}"));
    call.addAll(List.of("/x", "raised", "{}", "/y", "cleared", "{}"));
    return call.toArray(String[]::new);
  }

  private static String[] totals(String query, String position) {
    return new String[] {"tapline_totals", "1", key(query, "totals"), position, "tuples", "7"};
  }

  private static void call(String[] call) throws Exception {
    RedisFunctions functions = new RedisFunctions(endpoint());
    try {
      functions.call(call, NO_RETRY);
    } finally {
      functions.close();
    }
  }

  /** Makes every kind of call that a job makes. */
  private static void work(int end) throws Exception {
    call(window("a-1", "a-1", end));
    call(alerts("a-1", end));
    call(totals("a-1", "%020d".formatted(end)));
  }

  @Test
  void theJobWritesItsResults() throws Exception {
    work(10);
    work(20);
    try (Jedis admin = redis.client()) {
      assertThat(admin.xlen(key("a-1", "windows"))).isEqualTo(3);
      assertThat(admin.zrange(key("a-1", "ranking:0"), 0, -1)).containsExactly("/x");
      assertThat(admin.hgetAll(key("a-1", "alerts:1"))).containsOnlyKeys("/x");
      assertThat(admin.hget(key("a-1", "totals"), "tuples")).isEqualTo("7");
    }
  }

  @Test
  void everyRuleIsNecessary() throws Exception {
    String rules = String.join(" ", RedisAcl.jobRules("a-1", PASSWORD));
    List<MatchResult> matches = RULE.matcher(rules).results().toList();
    assertThat(matches).hasSizeGreaterThan(20);
    try (Jedis admin = redis.client()) {
      for (MatchResult one : matches) {
        setUser(admin, rules.substring(0, one.start()) + rules.substring(one.end()));
        assertThat(catchThrowable(() -> work(10))).as("without " + one.group()).isNotNull();
        admin.flushAll();
      }
      setUser(admin, rules);
    }
    work(10);
  }

  /** Tests query IDs of another tenant, and IDs that are prefixes of each other. */
  @Test
  void keysOfOtherQueriesAreForbidden() throws Exception {
    for (String otherName : List.of("b-1", "a-10", "a", "a-1:x", "*")) {
      assertRefused(window(otherName, otherName, 10));
      assertRefused(alerts(otherName, 10));
      assertRefused(totals(otherName, "10"));
    }
    assertRefused(window("a-1", "b-1", 10));
    assertRefused(new String[] {"tapline_totals", "1", "tapline:query:a-1", "10", "state", "x"});
    assertRefused(new String[] {"tapline_totals", "1", "tapline:queries", "10", "state", "x"});
    // This key belongs to the job's query, but is not the key of its totals.
    assertRefused(new String[] {"tapline_totals", "1", key("a-1", "windows"), "10", "a", "x"});
    try (Jedis admin = redis.client();
        Jedis job = RedisClients.connect(endpoint())) {
      assertThat(admin.keys("*"))
          .isSubsetOf(
              key("a-1", "last:0"),
              key("a-1", "ranking:0"),
              key("a-1", "groups:0"),
              key("a-1", "windows"));
      assertThatThrownBy(() -> job.get(key("b-1", "last:0")))
          .isInstanceOf(JedisAccessControlException.class);
      assertThatThrownBy(() -> job.set(key("a-1", "windows"), ""))
          .isInstanceOf(JedisAccessControlException.class);
      assertThatThrownBy(() -> job.publish(key("b-1", "events"), ""))
          .isInstanceOf(JedisAccessControlException.class);
    }
  }

  private static void assertRefused(String[] call) {
    assertThatThrownBy(() -> call(call)).hasRootCauseInstanceOf(JedisDataException.class);
  }

  @Test
  void otherCommandsAreForbidden() {
    String all = "auth del fcall get hdel hello hget hset publish quit reset set xadd zadd";
    assertThat(redis.commandsOf(RedisAcl.jobUser("a-1"))).containsExactly(all.split(" "));
  }

  @Test
  void commandsOfOtherUsersAreForbidden() {
    String control =
        "acl|deluser acl|setuser acl|users auth del function|list function|load hello hget hgetall hmget hset ping psetex"
            + " publish quit reset xadd xlen xrange xrevrange zadd zrem zrevrange";
    try (Jedis admin = redis.client()) {
      for (String user : RedisAcl.serverUsers("password")) {
        String[] words = user.split(" ");
        if (!words[1].equals("default")) {
          admin.aclSetUser(words[1], Arrays.copyOfRange(words, 2, words.length));
        }
      }
    }
    assertThat(redis.commandsOf(RedisAcl.CONTROL)).containsExactly(control.split(" "));
    assertThat(redis.commandsOf("health"))
        .containsExactly("auth", "hello", "ping", "quit", "reset");
  }

  @Test
  void anIdThatIsAPatternGetsNoRules() {
    for (String id : List.of("*", "a-?", "a-[1]", "a 1", "")) {
      assertThatThrownBy(() -> RedisAcl.jobRules(id, PASSWORD))
          .isInstanceOf(IllegalArgumentException.class);
    }
  }

  @Test
  void aJobWaitsForItsUserAndItsFunctions() throws Exception {
    try (Jedis admin = redis.client()) {
      admin.aclDelUser(RedisAcl.jobUser("a-1"));
      admin.functionFlush();
      RedisFunctions functions = new RedisFunctions(endpoint());
      CompletableFuture<Void> written =
          CompletableFuture.runAsync(
              () ->
                  assertThatCode(() -> functions.call(totals("a-1", "10"), TIMEOUT))
                      .doesNotThrowAnyException());
      Thread.sleep(300);
      setUser(admin, String.join(" ", RedisAcl.jobRules("a-1", PASSWORD)));
      Thread.sleep(300);
      assertThat(written).isNotDone();
      assertThat(admin.functionList()).as("the job loads none").isEmpty();
      RedisLibrary.load(admin);
      written.get();
      functions.close();
      assertThat(admin.hget(key("a-1", "totals"), "tuples")).isEqualTo("7");
    }
  }

  @Test
  void aRejectedJobNamesItsUserAndTheFix() {
    try (Jedis admin = redis.client()) {
      admin.aclDelUser(RedisAcl.jobUser("a-1"));
    }
    assertThatThrownBy(() -> call(totals("a-1", "10")))
        .isInstanceOf(IOException.class)
        .hasMessageContaining("refused the job (login of job-a-1): WRONGPASS")
        .hasMessageContaining("--redis-password-file")
        .hasMessageNotContaining(PASSWORD);
  }
}
