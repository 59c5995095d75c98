package io.tapline.control.flink;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.tapline.control.testing.Certificates;
import io.tapline.flink.TlsFiles;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.KeyStore;
import java.security.cert.CertificateFactory;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.configuration.SecurityOptions;
import org.apache.flink.runtime.minicluster.MiniCluster;
import org.apache.flink.runtime.minicluster.MiniClusterConfiguration;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Tests a real job manager whose REST interface requires TLS and client certificates. */
class FlinkTlsTest {
  private static final int TIMEOUT_S = 90;
  private static final String PASSWORD = "secret";
  private static final String REFUSED_BY_FLINK = "it rejected the job's jar";

  @TempDir Path folder;

  private String file(String name) {
    return folder.resolve(name).toString();
  }

  /** Returns TLS files that trust the authority of the job manager's certificate. */
  private TlsFiles tls(String name) {
    return new TlsFiles(file("flinks.pem"), file(name + ".pem"), file(name + ".key"));
  }

  /** Returns the settings that the cluster's start script generates. */
  private Configuration settings() throws Exception {
    Process export =
        new ProcessBuilder(
                List.of(
                    "openssl",
                    "pkcs12",
                    "-export",
                    "-in",
                    file("flink.pem"),
                    "-inkey",
                    file("flink.key"),
                    "-passout",
                    "pass:" + PASSWORD,
                    "-out",
                    file("flink.p12")))
            .inheritIO()
            .start();
    assertThat(export.waitFor()).isZero();
    KeyStore trusted = KeyStore.getInstance("PKCS12");
    trusted.load(null, null);
    try (InputStream pem = Files.newInputStream(folder.resolve("controls.pem"));
        OutputStream out = Files.newOutputStream(folder.resolve("controls.p12"))) {
      trusted.setCertificateEntry(
          "controls", CertificateFactory.getInstance("X.509").generateCertificate(pem));
      trusted.store(out, PASSWORD.toCharArray());
    }
    Configuration settings = new Configuration();
    settings.set(SecurityOptions.SSL_REST_ENABLED, true);
    settings.set(SecurityOptions.SSL_REST_AUTHENTICATION_ENABLED, true);
    settings.set(SecurityOptions.SSL_PROTOCOL, "TLSv1.3");
    settings.set(SecurityOptions.SSL_ALGORITHMS, "TLS_AES_256_GCM_SHA384");
    settings.set(SecurityOptions.SSL_REST_KEYSTORE, file("flink.p12"));
    settings.set(SecurityOptions.SSL_REST_KEYSTORE_PASSWORD, PASSWORD);
    settings.set(SecurityOptions.SSL_REST_KEY_PASSWORD, PASSWORD);
    settings.set(SecurityOptions.SSL_REST_TRUSTSTORE, file("controls.p12"));
    settings.set(SecurityOptions.SSL_REST_TRUSTSTORE_PASSWORD, PASSWORD);
    return settings;
  }

  @Test
  void onlyTheControlPlaneIsAdmitted() throws Exception {
    Certificates flinks = Certificates.authority(folder, "flinks");
    flinks.sign("flink", "DNS:localhost,IP:127.0.0.1");
    Certificates controls = Certificates.authority(folder, "controls");
    controls.sign("own", "control", "DNS:own");
    controls.signExpired("expired", "control", "DNS:own");
    Certificates.authority(folder, "monitors").sign("monitor", "control", "DNS:own");
    MiniClusterConfiguration one =
        new MiniClusterConfiguration.Builder()
            .setConfiguration(settings())
            .withRandomPorts()
            .build();
    try (MiniCluster cluster = new MiniCluster(one)) {
      cluster.start();
      int port = cluster.getRestAddress().get(TIMEOUT_S, TimeUnit.SECONDS).getPort();
      URI address = URI.create("https://localhost:" + port);
      assertThat(new FlinkRest(address, tls("own")).get("/overview").ok()).isTrue();
      // This job manager accepts no jars, but only a client with the right certificate gets that
      // response.
      Path jar = Files.createFile(folder.resolve("job.jar"));
      assertThatThrownBy(() -> new FlinkRest(address, tls("own")).upload(jar))
          .hasMessageContaining(REFUSED_BY_FLINK);
      // The job manager's own certificate does not authorize a client.
      for (TlsFiles stranger :
          List.of(tls("monitor"), tls("flink"), tls("expired"), flinks.nobody())) {
        assertThatThrownBy(() -> new FlinkRest(address, stranger).get("/overview"))
            .isInstanceOf(IOException.class);
        assertThatThrownBy(() -> new FlinkRest(address, stranger).upload(jar))
            .isInstanceOf(IOException.class)
            .hasMessageNotContaining(REFUSED_BY_FLINK);
      }
      URI plain = URI.create("http://localhost:" + port);
      FlinkRest.Answer rejectedClients = new FlinkRest(plain).get("/overview");
      assertThat(rejectedClients.status()).as("only redirected to TLS").isBetween(300, 399);
      assertThat(rejectedClients.body()).isEmpty();
      URI another = URI.create("https://127.0.0.2:" + port);
      assertThatThrownBy(() -> new FlinkRest(another, tls("own")).get("/overview"))
          .isInstanceOf(IOException.class);
    }
  }
}
