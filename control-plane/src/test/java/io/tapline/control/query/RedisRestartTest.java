package io.tapline.control.query;

import static org.assertj.core.api.Assertions.assertThat;

import io.tapline.compiler.Inventory;
import io.tapline.compiler.catalogue.Catalogue;
import io.tapline.control.JobKey;
import io.tapline.control.ProgressListener;
import io.tapline.control.embedded.EmbeddedOptions;
import io.tapline.control.embedded.EmbeddedPipeline;
import io.tapline.control.query.monitors.Source;
import io.tapline.control.query.services.TopicPolicy;
import io.tapline.control.testing.Await;
import io.tapline.control.testing.TestRedis;
import io.tapline.flink.TlsFiles;
import io.tapline.schema.RedisAcl;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import redis.clients.jedis.Jedis;

/** Tests a running query whose Redis server, which has ACL users, restarts without its data. */
class RedisRestartTest {
  private static final String QUERY =
      "PARSE http_get FROM * TO * LIMIT 90s SAMPLE * PROCESS (group-count: group=method, w=1s)";
  private static final Duration TIMEOUT = Duration.ofSeconds(60);
  private static final Path ROOT = Path.of(System.getProperty("tapline.root", ".."));

  @Test
  void resultsContinueAfterARestart(@TempDir Path folder) throws Exception {
    Path monitor = ROOT.resolve("build/bin/tapline-monitor");
    assertThat(monitor).as("the native programs must be built first: make native").isExecutable();
    try (TestRedis redis = TestRedis.startWithUsers(folder);
        EmbeddedPipeline pipeline =
            EmbeddedPipeline.start(options(monitor, redis), ProgressListener.SILENT)) {
      QueryService queries = pipeline.queries();
      Source capture =
          Source.files(List.of(ROOT.resolve("testbed/three_tier/three_tier.pcap.zst")), "1x");
      String id = queries.submit(QUERY, capture, ProgressListener.SILENT);
      Await.until("there are windows", TIMEOUT, () -> queries.results().windowCount(id) > 1);
      try (Jedis admin = redis.client()) {
        assertThat(admin.aclUsers()).contains(RedisAcl.jobUser(id));
      }
      redis.close();
      redis.launch();
      try (Jedis admin = redis.client()) {
        assertThat(admin.keys("tapline:query:" + id + ":windows"))
            .as("its data were lost")
            .isEmpty();
      }
      Await.until("there are windows again", TIMEOUT, () -> queries.results().windowCount(id) > 1);
      assertThat(queries.find(id).orElseThrow().state()).isEqualTo(QueryState.RUNNING);
      queries.stop(id);
      QueryInfo end = queries.awaitEnd(id);
      assertThat(end.state()).as(end.error()).isEqualTo(QueryState.STOPPED);
      try (Jedis admin = redis.client()) {
        assertThat(admin.aclUsers()).doesNotContain(RedisAcl.jobUser(id));
        assertThat(admin.aclLog())
            .as("only logins were refused")
            .allSatisfy(entry -> assertThat(entry.getReason()).isEqualTo("auth"));
      }
    }
  }

  private static EmbeddedOptions options(Path monitor, TestRedis redis) throws Exception {
    Catalogue catalogue =
        Catalogue.fromJson(Files.readString(ROOT.resolve("build/share/tapline/parsers.json")));
    EmbeddedOptions usualOptions = EmbeddedOptions.of(monitor, catalogue, Inventory.empty());
    return new EmbeddedOptions(
        usualOptions.monitor(),
        usualOptions.plugins(),
        usualOptions.catalogue(),
        usualOptions.inventory(),
        usualOptions.network(),
        "",
        "",
        TlsFiles.NONE,
        "",
        Optional.of(redis.control()),
        List.of(),
        TlsFiles.NONE,
        "",
        TopicPolicy.defaults(),
        usualOptions.hashKeys(),
        JobKey.random(),
        usualOptions.maxQueries());
  }
}
