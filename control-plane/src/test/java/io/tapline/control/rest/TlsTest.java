package io.tapline.control.rest;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;

import io.tapline.control.PipelineException;
import io.tapline.control.testing.Certificates;
import io.tapline.flink.TlsFiles;
import java.io.IOException;
import java.io.InputStream;
import java.net.Socket;
import java.net.SocketException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLHandshakeException;
import javax.net.ssl.SSLSocket;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * Tests a TLS server with clients that trust it, that don't trust it, or that use another protocol.
 */
class TlsTest {
  private static final int TIMEOUT_MS = 10_000;

  @TempDir static Path folder;
  private static Certificates authority;
  private static StoredQueries stored;

  @BeforeAll
  static void start() throws Exception {
    authority = Certificates.authority(folder, "authority");
    authority.sign("server", "DNS:localhost,IP:127.0.0.1");
    RestOptions options = RestOptions.loopback(0).with(files("server")).named(List.of("control-1"));
    stored = new StoredQueries(null, "", options);
  }

  @AfterAll
  static void stop() throws Exception {
    stored.close();
  }

  private static TlsFiles files(String name) {
    return new TlsFiles(
        authority.file().toString(),
        folder.resolve(name + ".pem").toString(),
        folder.resolve(name + ".key").toString());
  }

  private static HttpResponse<String> get(Certificates trusted, String host) throws Exception {
    return get(trusted, host, "/healthz");
  }

  private static HttpResponse<String> get(Certificates trusted, String host, String path)
      throws Exception {
    HttpClient client =
        HttpClient.newBuilder().sslContext(TlsFiles.trusting(trusted.file()).context()).build();
    URI uri = URI.create("https://%s:%d%s".formatted(host, stored.server.port(), path));
    return client.send(HttpRequest.newBuilder(uri).build(), BodyHandlers.ofString());
  }

  @Test
  void clientsThatTrustTheAuthorityAreAnswered() throws Exception {
    HttpResponse<String> response = get(authority, "localhost");
    assertThat(response.statusCode()).isEqualTo(200);
    assertThat(response.headers().firstValue("Strict-Transport-Security")).isPresent();
  }

  @Test
  void metricsShowTheExpiryOfTheCertificate() throws Exception {
    Matcher end =
        Pattern.compile(
                "\ntapline_certificate_not_after_timestamp_seconds\\{purpose=\"rest\"} (\\S+)\n")
            .matcher(get(authority, "localhost", "/metrics").body());
    assertThat(end.find()).isTrue();
    assertThat(Instant.ofEpochSecond((long) Double.parseDouble(end.group(1))))
        .isEqualTo(files("server").notAfter())
        .isCloseTo(Instant.now().plus(2, ChronoUnit.DAYS), within(1, ChronoUnit.HOURS));
  }

  @Test
  void oldCiphersAreRefused() throws Exception {
    assertThat(handshake("TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256")).isTrue();
    assertThat(handshake("TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256")).isTrue();
    assertThat(handshake("TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA256")).isFalse();
    assertThat(handshake("TLS_ECDHE_ECDSA_WITH_AES_256_CBC_SHA")).isFalse();
  }

  private static boolean handshake(String suite) throws Exception {
    SSLContext trusting = TlsFiles.trusting(authority.file()).context();
    try (SSLSocket socket =
        (SSLSocket) trusting.getSocketFactory().createSocket("localhost", stored.server.port())) {
      socket.setSoTimeout(TIMEOUT_MS);
      socket.setEnabledProtocols(new String[] {"TLSv1.2"});
      socket.setEnabledCipherSuites(new String[] {suite});
      socket.startHandshake();
      return true;
    } catch (SSLHandshakeException e) {
      return false;
    }
  }

  @Test
  void clientsThatTrustAnotherAuthorityDisconnect() throws Exception {
    Certificates otherCertificates = Certificates.authority(folder, "other");
    assertThatThrownBy(() -> get(otherCertificates, "localhost"))
        .isInstanceOf(SSLHandshakeException.class);
  }

  @Test
  void aPlainTextConnectionGetsNoResponse() throws Exception {
    try (Socket socket = new Socket("127.0.0.1", stored.server.port())) {
      socket.setSoTimeout(TIMEOUT_MS);
      socket
          .getOutputStream()
          .write(
              "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n".getBytes(StandardCharsets.UTF_8));
      assertThat(read(socket)).doesNotContain("HTTP/", "status", "up");
    }
  }

  /** Reads to the end of the connection. A TLS server may send an alert of seven bytes. */
  private static String read(Socket socket) throws IOException {
    StringBuilder all = new StringBuilder();
    InputStream in = socket.getInputStream();
    try {
      for (int next = in.read(); next >= 0; next = in.read()) {
        all.append((char) next);
      }
    } catch (SocketException reset) {
      // A reset ends the connection, too.
    }
    assertThat(all.length()).isLessThanOrEqualTo(7);
    return all.toString();
  }

  @Test
  void invalidFilesAreNamed() {
    for (TlsFiles wrongFiles :
        List.of(
            new TlsFiles(authority.file().toString(), "/missing.pem", key("server")),
            new TlsFiles(authority.file().toString(), key("server"), key("server")),
            new TlsFiles(authority.file().toString(), pem("server"), pem("server")))) {
      assertThatThrownBy(
              () ->
                  RestServer.start(
                      stored.queries(), null, RestOptions.loopback(0).with(wrongFiles)))
          .isInstanceOf(PipelineException.class)
          .hasMessageMatching(".*(can't be read|no PEM certificate|no PRIVATE KEY in PEM).*");
    }
  }

  private static String pem(String name) {
    return folder.resolve(name + ".pem").toString();
  }

  private static String key(String name) {
    return folder.resolve(name + ".key").toString();
  }
}
