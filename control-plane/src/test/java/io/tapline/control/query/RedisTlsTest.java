package io.tapline.control.query;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.tapline.control.JobKey;
import io.tapline.control.PipelineException;
import io.tapline.control.testing.Certificates;
import io.tapline.control.testing.FreePort;
import io.tapline.flink.RedisEndpoint;
import io.tapline.flink.TlsFiles;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Tests a real Redis server that requires TLS and client certificates. */
class RedisTlsTest {
  private static final long DEADLINE_NS = 30_000_000_000L;

  @TempDir static Path folder;
  private static int port;
  private static Process redis;

  @BeforeAll
  static void start() throws Exception {
    Certificates authority = Certificates.authority(folder, "authority");
    authority.sign("redis", "IP:127.0.0.1");
    authority.sign("own", "DNS:own");
    Certificates otherAuthority = Certificates.authority(folder, "other");
    otherAuthority.sign("stranger", "DNS:own");
    port = FreePort.any();
    redis =
        new ProcessBuilder(
                List.of(
                    "setpriv",
                    "--pdeathsig",
                    "KILL",
                    "redis-server",
                    "--bind",
                    "127.0.0.1",
                    "127.0.0.2",
                    "--port",
                    "0",
                    "--tls-port",
                    Integer.toString(port),
                    "--save",
                    "",
                    "--tls-ca-cert-file",
                    file("authority.pem"),
                    "--tls-cert-file",
                    file("redis.pem"),
                    "--tls-key-file",
                    file("redis.key")))
            .redirectErrorStream(true)
            .redirectOutput(ProcessBuilder.Redirect.DISCARD)
            .start();
    long deadline = System.nanoTime() + DEADLINE_NS;
    while (!reachable("127.0.0.1", tls("own"))) {
      assertThat(redis.isAlive()).isTrue();
      assertThat(System.nanoTime()).isLessThan(deadline);
      Thread.sleep(50);
    }
  }

  @AfterAll
  static void stop() throws Exception {
    redis.destroyForcibly().waitFor();
  }

  private static String file(String name) {
    return folder.resolve(name).toString();
  }

  private static TlsFiles tls(String name) {
    return new TlsFiles(file("authority.pem"), file(name + ".pem"), file(name + ".key"));
  }

  private static boolean reachable(String host, TlsFiles tls) throws Exception {
    return silence(host, tls).isEmpty();
  }

  private static String silence(String host, TlsFiles tls) throws Exception {
    try (QueryStore store =
        new QueryStore(RedisEndpoint.open(host, port).withTls(tls), JobKey.random())) {
      return store.silence();
    }
  }

  @Test
  void onlyClientsWithACertificateOfTheAuthorityAreAnswered() throws Exception {
    assertThat(reachable("127.0.0.1", tls("stranger"))).isFalse();
    assertThat(reachable("127.0.0.1", TlsFiles.trusting(folder.resolve("authority.pem"))))
        .isFalse();
    assertThat(reachable("127.0.0.1", TlsFiles.NONE)).as("unencrypted").isFalse();
    assertThat(reachable("127.0.0.1", tls("own"))).isTrue();
  }

  @Test
  void aServerWithACertificateOfAnotherHostIsRejected() throws Exception {
    assertThat(silence("127.0.0.2", tls("own")))
        .contains("No subject alternative names matching IP address 127.0.0.2");
    assertThat(silence("localhost", tls("own"))).contains("No name matching localhost");
  }

  @Test
  void missingFilesAreNamed() {
    assertThatThrownBy(() -> reachable("127.0.0.1", new TlsFiles("/missing.pem", "", "")))
        .isInstanceOf(PipelineException.class)
        .hasMessageContaining("/missing.pem");
  }
}
