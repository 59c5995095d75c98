package io.tapline.control.embedded;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.tapline.control.testing.Await;
import io.tapline.flink.RedisClients;
import io.tapline.flink.RedisEndpoint;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import redis.clients.jedis.Jedis;

/**
 * Tests that other users of the host can't access the embedded Redis, and that a killed Redis is
 * restarted.
 */
class EmbeddedRedisTest {
  private static final String OTHER_USER_ID = "65534";

  private final List<String> failures = new ArrayList<>();
  private TemporaryFolder folder;
  private EmbeddedRedis redis;

  @BeforeEach
  void start() throws Exception {
    folder = TemporaryFolder.create();
    redis = EmbeddedRedis.start(folder.path(), failures::add);
  }

  @AfterEach
  void stop() throws Exception {
    redis.close();
    folder.close();
  }

  private Path socket() {
    return Path.of(redis.endpoint().address().substring("unix:".length()));
  }

  private static String output(String... command) throws Exception {
    Process process = new ProcessBuilder(command).redirectErrorStream(true).start();
    String output = new String(process.getInputStream().readAllBytes());
    process.waitFor();
    return output;
  }

  @Test
  void anotherUserOfTheHostCannotConnect() throws Exception {
    assumeTrue(
        System.getProperty("user.name").equals("root"),
        "SKIPPED: only root can run a client as another user");
    String[] ping = {
      "setpriv",
      "--reuid",
      OTHER_USER_ID,
      "--regid",
      OTHER_USER_ID,
      "--clear-groups",
      "redis-cli",
      "-s",
      socket().toString(),
      "ping"
    };
    assertThat(output(ping)).contains("Permission denied");
    // Other users could not connect even if they could enter the folder.
    Files.setPosixFilePermissions(folder.path(), PosixFilePermissions.fromString("rwxr-xr-x"));
    assertThat(output(ping)).contains("Permission denied");
    try (Stream<Path> files = Files.list(folder.path())) {
      for (Path file : files.toList()) {
        assertThat(PosixFilePermissions.toString(Files.getPosixFilePermissions(file)))
            .as(file.toString())
            .isEqualTo("rw-------");
      }
    }
  }

  @Test
  void aPasswordIsRequiredAndNotOnTheCommandLine() throws Exception {
    assertThat(output("redis-cli", "-s", socket().toString(), "ping")).contains("NOAUTH");
    String password = redis.endpoint().login().password();
    assertThat(password).hasSizeGreaterThan(40);
    for (ProcessHandle child : ProcessHandle.current().descendants().toList()) {
      Path process = Path.of("/proc", Long.toString(child.pid()));
      assertThat(Files.readString(process.resolve("cmdline"))).doesNotContain(password);
      assertThat(Files.readString(process.resolve("environ"))).doesNotContain(password);
    }
    assertThat(Files.readString(folder.path().resolve("redis.log"))).doesNotContain(password);
    assertThat(redis.endpoint().toString()).doesNotContain(password);
  }

  @Test
  void isRestartedOnTheSameSocket() throws Exception {
    RedisEndpoint endpoint = redis.endpoint();
    kill();
    Await.until("it is back", Duration.ofSeconds(30), () -> !failures.isEmpty());
    try (Jedis client = RedisClients.connect(endpoint)) {
      assertThat(client.ping()).isEqualTo("PONG");
    }
  }

  @Test
  void reportsTheLossEvenIfItCannotBeRestarted() throws Exception {
    Path log = folder.path().resolve("redis.log");
    Files.delete(log);
    Files.createDirectory(log);
    kill();
    Await.until("the loss is reported", Duration.ofSeconds(30), () -> !failures.isEmpty());
    assertThat(failures).singleElement().asString().contains("its results are lost");
  }

  private static void kill() {
    List<ProcessHandle> servers =
        ProcessHandle.current()
            .children()
            .filter(child -> child.info().command().orElse("").contains("/redis-"))
            .toList();
    assertThat(servers).hasSize(1);
    servers.get(0).destroyForcibly();
  }

  @Test
  void namesAFolderWithAPathTooLongForASocket() throws Exception {
    Path deep = Files.createDirectories(folder.path().resolve("x".repeat(60)));
    assertThatThrownBy(() -> EmbeddedRedis.start(deep, failures::add))
        .isInstanceOf(IOException.class)
        .hasMessageContaining(deep.toString())
        .hasMessageContaining("TMPDIR");
  }
}
