package io.tapline.control.coordination;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.tapline.control.PipelineException;
import io.tapline.control.testing.Certificates;
import io.tapline.control.testing.SecureZooKeeper;
import io.tapline.flink.TlsFiles;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Tests connections to a real ZooKeeper server that requires TLS and client certificates. */
class ZooKeeperTlsTest {
  private static final Duration SESSION = Duration.ofSeconds(30);
  private static final Duration TIMEOUT = Duration.ofSeconds(90);
  private static final Duration IN_VAIN = Duration.ofSeconds(1);

  @TempDir static Path folder;
  private static SecureZooKeeper server;

  @BeforeAll
  static void start() throws Exception {
    Certificates authority = Certificates.authority(folder, "authority");
    authority.sign("zookeeper", "DNS:localhost,IP:127.0.0.1");
    authority.sign("own", "DNS:own");
    Certificates.authority(folder, "other").sign("stranger", "DNS:own");
    server = new SecureZooKeeper(folder, "zookeeper", authority.file());
    // Verifies that the server is up, so that the tests' clients are not rejected for another
    // reason.
    try {
      connect("localhost", tls("own"), TIMEOUT).close();
    } catch (PipelineException e) {
      throw new AssertionError("the server says: " + server.log(), e);
    }
  }

  @AfterAll
  static void stop() throws Exception {
    server.close();
  }

  private static String file(String name) {
    return folder.resolve(name).toString();
  }

  private static TlsFiles tls(String name) {
    return new TlsFiles(file("authority.pem"), file(name + ".pem"), file(name + ".key"));
  }

  private static Leadership connect(String host, TlsFiles tls, Duration timeout)
      throws PipelineException {
    return Leadership.connect(host + ":" + server.port(), SESSION, tls, List.of(), timeout);
  }

  @Test
  void aCertificateOfTheAuthorityIsEnoughToLead() throws Exception {
    try (Leadership own = connect("localhost", tls("own"), TIMEOUT)) {
      own.campaign("https://own");
      own.led().get(TIMEOUT.toSeconds(), TimeUnit.SECONDS);
      assertThat(own.claim().queries()).isEmpty();
    }
  }

  @Test
  void clientsWithoutACertificateOrTlsAreNotAnswered() {
    for (TlsFiles stranger : List.of(tls("stranger"), TlsFiles.NONE)) {
      assertThatThrownBy(() -> connect("localhost", stranger, IN_VAIN))
          .isInstanceOf(PipelineException.class)
          .hasMessageContaining("no ZooKeeper answers at localhost:" + server.port());
    }
  }

  @Test
  void aServerWithACertificateOfAnotherHostIsRejected() {
    assertThatThrownBy(() -> connect("127.0.0.2", tls("own"), IN_VAIN))
        .hasMessageContaining("over TLS: check that it is running")
        .hasMessageContaining("certificates at both ends");
  }

  @Test
  void missingFilesAreNamedAndTheKeyIsRemoved() throws Exception {
    assertThatThrownBy(
            () -> connect("localhost", new TlsFiles("/missing.pem", "/no", "/no"), IN_VAIN))
        .isInstanceOf(PipelineException.class)
        .hasMessageContaining("/no: can't be read");
    ZooKeeperTls own = new ZooKeeperTls(tls("own"));
    Path identity = Path.of(own.settings().getProperty("zookeeper.ssl.keyStore.location"));
    assertThat(Files.readString(identity)).contains("PRIVATE KEY");
    assertThat(Files.getPosixFilePermissions(identity)).hasSize(2);
    own.close();
    assertThat(identity).doesNotExist();
  }
}
