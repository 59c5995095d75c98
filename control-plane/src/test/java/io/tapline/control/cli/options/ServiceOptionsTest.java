package io.tapline.control.cli.options;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatCode;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.tapline.control.cli.console.Console;
import io.tapline.control.cli.console.UsageException;
import io.tapline.flink.Login;
import io.tapline.flink.RedisEndpoint;
import java.io.ByteArrayOutputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import picocli.CommandLine;
import picocli.CommandLine.Mixin;

/** Tests the options for Redis, its login, and the passwords of jobs. */
class ServiceOptionsTest {
  @TempDir Path folder;
  private Path password;
  private final ByteArrayOutputStream stderr = new ByteArrayOutputStream();

  @CommandLine.Command
  private static final class Options {
    @Mixin private ServiceOptions services;
    @Mixin private CoordinationOptions coordination;
  }

  @BeforeEach
  void write() throws Exception {
    password = Files.writeString(folder.resolve("password"), "secret\n");
    Files.setPosixFilePermissions(password, PosixFilePermissions.fromString("rw-------"));
  }

  private static Options options(String line) {
    Options options = new Options();
    new CommandLine(options).parseArgs(line.split(" "));
    return options;
  }

  private RedisEndpoint redis(String line) {
    Console console = new Console(new ByteArrayOutputStream(), stderr, 0, false);
    return options(line).services.redis(console).orElseThrow();
  }

  @Test
  void theFileContainsTheUsersPassword() throws Exception {
    RedisEndpoint openEndpoint = RedisEndpoint.open("r", 1);
    assertThat(redis("--redis r:1")).isEqualTo(openEndpoint);
    assertThat(redis("--redis r:1 --redis-password-file " + password))
        .isEqualTo(openEndpoint.withLogin(new Login("control", "secret")));
    assertThat(redis("--redis unix:/r --redis-user me --redis-password-file " + password))
        .isEqualTo(RedisEndpoint.unix(Path.of("/r")).withLogin(new Login("me", "secret")));
    assertThat(stderr.toString(StandardCharsets.UTF_8)).isEmpty();
    Files.setPosixFilePermissions(password, PosixFilePermissions.fromString("rw-r--r--"));
    redis("--redis r:1 --redis-password-file " + password);
    assertThat(stderr.toString(StandardCharsets.UTF_8))
        .contains("every user of this host can read it")
        .doesNotContain("secret");
  }

  @Test
  void errorsAreReportedWithoutThePassword() throws Exception {
    assertWrong("--redis-password-file " + password, "--redis-password-file requires --redis");
    assertWrong("--redis r:1 --redis-password-file /missing", "/missing: can't be read");
    Files.writeString(password, "two secrets\n");
    assertWrong("--redis r:1 --redis-password-file " + password, "must contain one word");
    assertWrong("--redis r:x", "--redis: redis address 'r:x' is not host:port or unix:/path");
  }

  private void assertWrong(String line, String message) {
    assertThatThrownBy(() -> redis(line))
        .isInstanceOf(UsageException.class)
        .hasMessageContaining(message)
        .hasMessageNotContaining("secret");
  }

  @Test
  void aTakeoverRequiresTheSecretOfJobsPasswords() {
    String line =
        "--zookeeper z:1 --brokers k:1 --flink https://f:1 --redis r:1 --redis-password-file "
            + password;
    Options without = options(line);
    assertThatThrownBy(() -> without.coordination.check(true, without.services))
        .isInstanceOf(UsageException.class)
        .hasMessageContaining("--job-key-file");
    Options withPassword = options(line + " --job-key-file " + password);
    assertThatCode(() -> withPassword.coordination.check(true, withPassword.services))
        .doesNotThrowAnyException();
  }

  @Test
  void unixSocketsHaveNoTls() {
    Options options = options("--redis unix:/r");
    TlsOptions tls = new TlsOptions();
    new CommandLine(tls)
        .setCaseInsensitiveEnumValuesAllowed(true)
        .parseArgs("--tls redis --tls-ca a --tls-certificate c --tls-key k".split(" "));
    assertThatThrownBy(() -> options.services.speakTls(tls))
        .isInstanceOf(UsageException.class)
        .hasMessageContaining("Unix socket");
  }
}
