package io.tapline.control.query.services;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowable;

import io.tapline.control.JobKey;
import io.tapline.control.query.QueryInfo;
import io.tapline.control.query.QueryState;
import io.tapline.control.query.QueryStore;
import io.tapline.control.query.events.EventHub;
import io.tapline.control.query.events.EventStore;
import io.tapline.control.testing.Await;
import io.tapline.control.testing.TestRedis;
import io.tapline.flink.Login;
import io.tapline.flink.RedisClients;
import io.tapline.schema.RedisAcl;
import io.tapline.schema.rpc.Event;
import io.tapline.schema.rpc.EventBatch;
import io.tapline.schema.rpc.EventList;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Consumer;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import redis.clients.jedis.Jedis;
import redis.clients.jedis.exceptions.JedisAccessControlException;
import redis.clients.jedis.exceptions.JedisException;
import redis.clients.jedis.params.XAddParams;

/**
 * Tests the control plane's rights on a real Redis server with the ACL file of the Docker cluster.
 */
class RedisAccessTest {
  private static final Duration TIMEOUT = Duration.ofSeconds(30);
  private static final JobKey KEY = JobKey.random();
  private static final String USER = RedisAcl.jobUser("a-1");

  @TempDir Path folder;
  private TestRedis redis;

  @BeforeEach
  void start() throws Exception {
    redis = TestRedis.startWithUsers(folder);
  }

  @AfterEach
  void stop() {
    redis.close();
  }

  /** Calls methods that together send every command that the control plane sends to Redis. */
  private void work() throws Exception {
    QueryInfo query = new QueryInfo("a-1", "text", QueryState.RUNNING, 1, 2, 0, "", List.of());
    try (QueryStore store = new QueryStore(redis.control(), KEY)) {
      store.access().grant("a-1");
      store.add(query, "{}");
      store.update(query);
      assertThat(store.find("a-1")).contains(query);
      assertThat(store.plan("a-1")).isPresent();
      assertThat(store.list(id -> Optional.empty())).containsExactly(query);
      assertThat(store.fault()).isEmpty();
      assertThat(store.silence()).isEmpty();
      assertThat(store.results().windowCount("a-1")).isZero();
      assertThat(store.results().windowsAfter("a-1", "")).isEmpty();
      assertThat(store.results().latestWindows("a-1")).isEmpty();
      assertThat(store.results().totals("a-1")).isEmpty();
      assertThat(store.results().taken("a-1")).containsExactly(0, 0);
      assertThat(store.results().progress("a-1")).isInstanceOf(List.class);
      try (Jedis admin = redis.client()) {
        admin.aclDelUser(USER);
        store.access().check();
        assertThat(admin.aclUsers()).contains(USER);
      }
      store.access().revoke("a-1");
      try (Jedis admin = redis.client()) {
        assertThat(admin.aclUsers()).doesNotContain(USER);
      }
      logEvent(store.events());
      assertThat(store.events().after("a-1", 0)).hasSize(1);
      store.remove("a-1", 1);
      assertThat(store.events().after("a-1", 0)).isEmpty();
      assertThat(store.find("a-1")).isEmpty();
    }
  }

  private static void logEvent(EventStore events) throws Exception {
    try (EventHub hub = new EventHub(events)) {
      hub.open("a-1", false);
      EventBatch batch =
          EventBatch.newBuilder()
              .setQuery("a-1")
              .setCount(1)
              .setEvents(
                  EventList.newBuilder()
                      .addEvents(Event.getDefaultInstance())
                      .build()
                      .toByteString())
              .build();
      hub.events("h1", batch, next -> {});
      hub.drain();
    }
  }

  @Test
  void allRulesAreSufficientAndNecessary() throws Exception {
    work();
    String[] file = Files.readString(folder.resolve("users.acl")).split("\n");
    String line = List.of(file).stream().filter(user -> user.contains(" control ")).findAny().get();
    // A selector, which is enclosed in parentheses, counts as one rule.
    String[] words = line.split(" (?![^(]*\\))");
    List<String> rules = new ArrayList<>(List.of(words).subList(2, words.length));
    List<String> taken = rules.stream().filter(rule -> rule.matches("[+~&(].*")).toList();
    assertThat(taken).hasSizeGreaterThan(20);
    try (Jedis admin = redis.client()) {
      for (String rule : taken) {
        List<String> others = new ArrayList<>(rules);
        others.remove(rule);
        admin.flushAll();
        admin.functionFlush();
        admin.aclSetUser(RedisAcl.CONTROL, others.toArray(String[]::new));
        assertThat(catchThrowable(this::work)).as("without " + rule).isNotNull();
      }
      admin.aclSetUser(RedisAcl.CONTROL, rules.toArray(String[]::new));
    }
    work();
  }

  @Test
  void allowsNoOtherCommands() {
    List<Consumer<Jedis>> all =
        List.of(
            client -> client.configGet("*"),
            client -> client.keys("*"),
            client -> client.eval("return 1"),
            client -> client.flushAll(),
            client -> client.scriptFlush(),
            client -> client.functionFlush(),
            client -> client.functionDump(),
            client -> client.functionDelete("tapline"),
            client -> client.aclList(),
            client -> client.aclGetUser("control"),
            client -> client.moduleList(),
            client -> client.save(),
            client -> client.info(),
            client -> client.clientList(),
            client -> client.get("tapline:query:a-1:last:0"),
            client ->
                client.xadd(
                    "tapline:query:a-1:windows", Map.of("processor", "0"), XAddParams.xAddParams()),
            client -> client.hset("tapline:pool:videos", "/", "x"),
            client -> client.hgetAll("foreign"),
            client -> client.publish("foreign", ""));
    for (Consumer<Jedis> forbiddenCall : all) {
      try (Jedis control = RedisClients.connect(redis.control())) {
        assertThatThrownBy(() -> forbiddenCall.accept(control))
            .isInstanceOf(JedisAccessControlException.class)
            .hasMessageStartingWith("NOPERM");
      }
    }
    try (Jedis nobody = RedisClients.connect(redis.endpoint())) {
      assertThatThrownBy(nobody::ping).hasMessageStartingWith("NOAUTH");
    }
    try (Jedis health =
        RedisClients.connect(redis.endpoint().withLogin(new Login("health", "none")))) {
      assertThat(health.ping()).isEqualTo("PONG");
      assertThatThrownBy(() -> health.hgetAll("tapline:query:a-1"))
          .hasMessageStartingWith("NOPERM");
    }
  }

  @Test
  void usersAndFunctionsAreRecreatedInAnEmptyRedis() throws Exception {
    try (QueryStore store = new QueryStore(redis.control(), KEY)) {
      store.access().grant("a-1");
      redis.close();
      store.access().revoke("b-1");
      redis.launch();
      Await.until("the job can log in again", TIMEOUT, () -> works(store.access().login("a-1")));
      try (Jedis admin = redis.client()) {
        assertThat(admin.functionList()).hasSize(1);
        admin.aclSetUser(RedisAcl.jobUser("b-1"));
        store.access().revoke("a-1");
        assertThat(admin.aclUsers()).doesNotContain(USER);
      }
      assertThat(works(store.access().login("a-1"))).isFalse();
    }
  }

  private boolean works(Login login) {
    try (Jedis job = RedisClients.connect(redis.endpoint().withLogin(login))) {
      job.fcall("tapline_totals", List.of("tapline:query:a-1:totals"), List.of("1", "tuples", "1"));
      return true;
    } catch (JedisException e) {
      return false;
    }
  }

  @Test
  void aUserThatCouldNotBeRemovedIsRemovedLater() throws Exception {
    try (QueryStore store = new QueryStore(redis.control(), KEY);
        Jedis admin = redis.client()) {
      store.access().grant("a-1");
      admin.aclSetUser(RedisAcl.CONTROL, "-acl|deluser");
      store.access().revoke("a-1");
      assertThat(admin.aclUsers()).contains(USER);
      admin.aclSetUser(RedisAcl.CONTROL, "+acl|deluser");
      Await.until("the user is gone", TIMEOUT, () -> !admin.aclUsers().contains(USER));
    }
  }

  @Test
  void theNextLeaderDerivesThePasswordsOfJobs() throws Exception {
    try (QueryStore first = new QueryStore(redis.control(), KEY);
        QueryStore second = new QueryStore(redis.control(), KEY)) {
      first.access().grant("a-1");
      assertThat(works(second.access().login("a-1"))).isTrue();
      assertThat(works(first.access().login("a-2"))).isFalse();
    }
  }

  @Test
  void aWrongPasswordIsExplained() throws Exception {
    try (QueryStore store =
        new QueryStore(redis.endpoint().withLogin(new Login(RedisAcl.CONTROL, "wrong")), KEY)) {
      assertThat(store.silence())
          .contains("refused the control plane with login of control: ", "WRONGPASS")
          .contains("--redis-password-file");
      assertThat(store.fault()).isNotEmpty();
    }
  }
}
