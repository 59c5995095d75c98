package io.tapline.control.replicas;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.MissingNode;
import io.tapline.control.query.WindowResult;
import io.tapline.control.testing.TestRedis;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import redis.clients.jedis.Jedis;

/** Tests the effects of windows on real web servers and a real Redis server. */
class ReplicaManagerTest {
  private static final long SECOND_NS = 1_000_000_000L;
  private static final ObjectMapper MAPPER = new ObjectMapper();

  @TempDir Path folder;

  private final List<Change> changes = new ArrayList<>();
  private final List<String> failures = new ArrayList<>();
  private WebServers web;
  private TestRedis redis;

  @BeforeEach
  void start() throws Exception {
    redis = TestRedis.start();
    web = new WebServers(folder, 3);
    for (String page : List.of("a", "b/c.html")) {
      Path file = web.root(0).resolve(page);
      Files.createDirectories(file.getParent());
      Files.writeString(file, "the page " + page + "\n".repeat(5000));
    }
  }

  @AfterEach
  void stop() throws Exception {
    web.close();
    redis.close();
  }

  private Pool pool() {
    List<WebServer> servers = new ArrayList<>(List.of(web.server(0)));
    for (int i = 1; i < 3; i++) {
      String flag = folder.resolve("running" + i).toString();
      servers.add(web.server(i, List.of("touch", flag), List.of("rm", flag)));
    }
    return new Pool("videos", redis.address(), new Thresholds(10, 4, 0), servers);
  }

  private ReplicaManager open() {
    return ReplicaManager.open(pool(), changes::add, failures::add);
  }

  private static WindowResult window(long endSeconds, Map<String, Integer> counts) {
    ArrayNode rows = MAPPER.createArrayNode();
    counts.forEach(
        (url, count) -> {
          rows.addObject().put("value", count).putObject("key").put("url", url);
        });
    long endNs = endSeconds * SECOND_NS;
    return new WindowResult(
        "1-0", 0, "top-k", endNs - 5 * SECOND_NS, endNs, rows, MissingNode.getInstance());
  }

  private Map<String, String> places() {
    try (Jedis client = redis.client()) {
      return client.hgetAll("tapline:pool:videos");
    }
  }

  private boolean runs(int server) {
    return Files.exists(folder.resolve("running" + server));
  }

  private void assertCopies(int server, String... pages) throws Exception {
    for (String page : List.of("a", "b/c.html")) {
      Path copy = web.root(server).resolve(page);
      assertThat(Files.exists(copy))
          .as("%s on %d", page, server)
          .isEqualTo(List.of(pages).contains(page));
      if (Files.exists(copy)) {
        assertThat(copy).hasSameTextualContentAs(web.root(0).resolve(page));
      }
    }
  }

  @Test
  void serversAreAddedAndRemovedWithHotPages() throws Exception {
    try (ReplicaManager manager = open()) {
      manager.look(window(5, Map.of("/a", 60, "/b/c.html", 20)));
      assertThat(runs(1)).isTrue();
      assertCopies(1, "a");
      assertThat(places()).isEqualTo(Map.of("/a", web.address(0) + " " + web.address(1)));

      manager.look(window(6, Map.of("/a", 120, "/b/c.html", 60)));
      assertThat(runs(2)).isTrue();
      for (int server = 1; server < 3; server++) {
        assertCopies(server, "a", "b/c.html");
      }
      String all = web.address(0) + " " + web.address(1) + " " + web.address(2);
      assertThat(places()).isEqualTo(Map.of("/a", all, "/b/c.html", all));

      manager.look(window(7, Map.of("/a", 45)));
      assertThat(runs(2)).isFalse();
      assertThat(runs(1)).isTrue();
      assertCopies(2);
      assertCopies(1, "a");
      manager.look(window(8, Map.of()));
      assertThat(runs(1)).as("a window that no monitor saw has no effect").isTrue();
      manager.updateWithoutCounts(SECOND_NS);
      assertThat(runs(1)).isFalse();
      assertCopies(1);
      assertThat(places()).isEmpty();
    }
    assertThat(changes).extracting(Change::servers).containsExactly(2, 3, 2, 1);
    assertThat(changes.get(0).reason()).isEqualTo("/a at 12.0/s on 1 server");
    assertThat(failures).isEmpty();
    try (Jedis client = redis.client()) {
      assertThat(client.xlen("tapline:pool:videos:changes")).isEqualTo(4);
    }
  }

  @Test
  void invalidUrlsInTheTrafficAreNotCopied() throws Exception {
    try (ReplicaManager manager = open()) {
      manager.look(
          window(5, Map.of("/../a", 900, "/a?x=1", 900, "//a", 900, "", 900, "/%2e%2e/a", 900)));
      assertThat(manager.servers()).isEqualTo(1);
      manager.look(window(6, Map.of("/none", 80, "/a", 60)));
      manager.look(window(7, Map.of("/none", 80, "/a", 60)));
      assertThat(places()).containsOnlyKeys("/a");
    }
    assertThat(failures).as("reported once").containsExactly("web1 answered 404 to GET /none");
  }

  @Test
  void theNextManagerResumesFromTheExistingReplicas() throws Exception {
    ReplicaManager killed = open();
    killed.look(window(5, Map.of("/a", 60)));
    try (ReplicaManager next = open()) {
      assertThat(next.servers()).isEqualTo(2);
      next.look(window(6, Map.of("/a", 60)));
      assertThat(changes).hasSize(1);
    }
    assertThat(runs(1)).as("at the end only the first server is left").isFalse();
    assertThat(places()).isEmpty();
    assertCopies(1);
  }

  @Test
  void failedServersAndAnUnreachableRedisAreRetried() throws Exception {
    Pool brokenPool =
        new Pool(
            "videos",
            redis.address(),
            new Thresholds(10, 4, 0),
            List.of(web.server(0), web.server(1, List.of("false"), List.of())));
    try (ReplicaManager manager = ReplicaManager.open(brokenPool, changes::add, failures::add)) {
      manager.look(window(5, Map.of("/a", 60)));
      assertThat(manager.servers()).isEqualTo(1);
      assertThat(failures).containsExactly("web2: 'false' ended with exit code 1");
    }
    failures.clear();
    try (ReplicaManager manager = open()) {
      redis.close();
      manager.look(window(5, Map.of("/a", 60)));
      assertThat(manager.servers()).isEqualTo(1);
      assertThat(failures).singleElement().asString().startsWith("Redis does not answer");
      redis.launch();
      manager.look(window(6, Map.of("/a", 60)));
      assertThat(manager.servers()).isEqualTo(2);
      assertThat(places()).containsOnlyKeys("/a");
    }
  }

  @Test
  void aStoppedServerIsNotUsedAlthoughRedisFailsAfterwards() throws Exception {
    String port = redis.address().substring(redis.address().lastIndexOf(':') + 1);
    WebServer second =
        web.server(1, List.of("true"), List.of("redis-cli", "-p", port, "shutdown", "nosave"));
    Pool failingPool =
        new Pool(
            "videos", redis.address(), new Thresholds(10, 4, 0), List.of(web.server(0), second));
    try (ReplicaManager manager = ReplicaManager.open(failingPool, changes::add, failures::add)) {
      manager.look(window(5, Map.of("/a", 60)));
      assertThat(manager.servers()).isEqualTo(2);
      manager.look(window(60, Map.of("/a", 1)));
      assertThat(manager.servers()).isEqualTo(1);
      assertThat(failures).singleElement().asString().startsWith("Redis does not answer");
    }
  }
}
