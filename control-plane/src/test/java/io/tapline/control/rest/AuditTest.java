package io.tapline.control.rest;

import static org.assertj.core.api.Assertions.assertThat;

import io.tapline.control.access.Token;
import io.tapline.control.access.TokenFile;
import io.tapline.control.testing.Await;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.Socket;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.logging.log4j.Level;
import org.apache.logging.log4j.LogManager;
import org.apache.logging.log4j.core.LogEvent;
import org.apache.logging.log4j.core.Logger;
import org.apache.logging.log4j.core.appender.AbstractAppender;
import org.apache.logging.log4j.core.config.Configurator;
import org.apache.logging.log4j.core.config.Property;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Tests the audit log of a server with tokens. */
class AuditTest {
  private static final String NAME = "tapline.audit";
  private static final String WEB = Token.newSecret();
  private static final String BUSY = Token.newSecret();
  private static final String WEB_ID = Token.hash(WEB).substring(0, 8);
  private static final Duration TIMEOUT = Duration.ofSeconds(30);

  @TempDir static Path folder;
  private static StoredQueries stored;
  private static final List<String> LINES = new CopyOnWriteArrayList<>();
  private static final AbstractAppender APPENDER =
      new AbstractAppender("lines", null, null, true, Property.EMPTY_ARRAY) {
        @Override
        public void append(LogEvent event) {
          LINES.add(event.getMessage().getFormattedMessage());
        }
      };

  @BeforeAll
  static void start() throws Exception {
    APPENDER.start();
    ((Logger) LogManager.getLogger(NAME)).addAppender(APPENDER);
    Path file = folder.resolve("tokens.yaml");
    Files.writeString(
        file,
        """
        tokens:
          - {name: laptop, tenant: web, role: analyst, subnets: [10.0.2.0/24], sha256: %s}
          - {tenant: busy, role: viewer, subnets: [10.0.3.0/24], sha256: %s}
        tenants:
          web: {requests_per_second: 1000}
          busy: {requests_per_second: 1}
        """
            .formatted(Token.hash(WEB), Token.hash(BUSY)));
    RestOptions options =
        RestOptions.loopback(0)
            .with(new TokenFile(file))
            .behind(TrustedProxies.of(List.of("127.0.0.1")));
    stored = new StoredQueries(null, "", options);
    stored.add("web-1", "finished");
  }

  @AfterAll
  static void stop() throws Exception {
    stored.close();
    ((Logger) LogManager.getLogger(NAME)).removeAppender(APPENDER);
    Configurator.setLevel(NAME, (Level) null);
  }

  @BeforeEach
  void listen() {
    Configurator.setLevel(NAME, Level.INFO);
    LINES.clear();
  }

  private static HttpResponse<String> send(
      String token, String method, String path, String body, String forwardedFor) throws Exception {
    HttpRequest.Builder request =
        stored
            .rest
            .request(path)
            .header("Content-Type", "application/json")
            .method(method, HttpRequest.BodyPublishers.ofString(body));
    if (!token.isEmpty()) {
      request.header("Authorization", "Bearer " + token);
    }
    if (!forwardedFor.isEmpty()) {
      request.header("X-Forwarded-For", forwardedFor);
    }
    return stored.rest.send(request);
  }

  private static String line(int status, String request) throws Exception {
    String begin = status + " " + request + " ";
    Await.until(begin, TIMEOUT, () -> LINES.stream().anyMatch(line -> line.startsWith(begin)));
    return LINES.stream().filter(line -> line.startsWith(begin)).findFirst().orElseThrow();
  }

  @Test
  void theOutcomeOfARequestIsLogged() throws Exception {
    send(WEB, "POST", "/api/v1/queries", "{\"query\": \"PARSE\"}", "");
    assertThat(line(409, "POST /api/v1/queries"))
        .isEqualTo(
            "409 POST /api/v1/queries tenant=web role=analyst token=%s name=laptop from=127.0.0.1"
                .formatted(WEB_ID));
    send(WEB, "POST", "/api/v1/explain", "{\"query\": \"PARSE\"}", "");
    line(400, "POST /api/v1/explain");
    send(WEB, "POST", "/api/v1/drilldown", "{\"filter\": \"\"}", "");
    line(503, "POST /api/v1/drilldown");
    send(WEB, "DELETE", "/api/v1/queries/web-1", "", "");
    line(204, "DELETE /api/v1/queries/web-1");
  }

  @Test
  void rejectionsAreLogged() throws Exception {
    send(WEB, "GET", "/api/v1/nodes", "", "");
    assertThat(line(403, "GET /api/v1/nodes")).contains("tenant=web").contains("token=" + WEB_ID);
    send("tapline_wrong", "GET", "/api/v1/queries", "", "");
    assertThat(line(401, "GET /api/v1/queries"))
        .endsWith("tenant=- role=- token=- name=- from=127.0.0.1");
    Await.until(
        "429", TIMEOUT, () -> send(BUSY, "GET", "/api/v1/queries", "", "").statusCode() == 429);
    assertThat(line(429, "GET /api/v1/queries")).contains("tenant=busy role=viewer");
    assertThat(LINES).noneMatch(line -> line.contains("tapline_") || line.contains(WEB));
  }

  /**
   * Tests that reads are logged only at level DEBUG. Lines are written in the order of requests, so
   * a line about the first read would arrive before the line about the DELETE.
   */
  @Test
  void readsAreLoggedOnlyOnRequest() throws Exception {
    send(WEB, "GET", "/api/v1/queries/web-1", "", "");
    send(WEB, "DELETE", "/api/v1/queries/web-1", "", "");
    line(204, "DELETE /api/v1/queries/web-1");
    assertThat(LINES).hasSize(1);
    Configurator.setLevel(NAME, Level.DEBUG);
    send(WEB, "GET", "/api/v1/queries/web-1", "", "");
    line(200, "GET /api/v1/queries/web-1");
  }

  @Test
  void theClientOfAProxyIsLogged() throws Exception {
    send(WEB, "POST", "/api/v1/explain", "{}", "203.0.113.1, 192.0.2.7");
    assertThat(line(400, "POST /api/v1/explain")).endsWith(" from=192.0.2.7");
  }

  /** Sends a request that no Java client would send. */
  private static String raw(String request) throws Exception {
    try (Socket socket = new Socket("127.0.0.1", stored.rest.port())) {
      OutputStream out = socket.getOutputStream();
      out.write(request.getBytes(StandardCharsets.ISO_8859_1));
      out.flush();
      socket.shutdownOutput();
      InputStream in = socket.getInputStream();
      return new String(in.readAllBytes(), StandardCharsets.ISO_8859_1);
    }
  }

  @Test
  void clientsCantInjectLines() throws Exception {
    String forged = "x%20from=1.2.3.4%C2%85200";
    raw(
        "GET /api/v1/queries/"
            + forged
            + " HTTP/1.1\r\nHost: localhost\r\nX-Forwarded-For: 1.2.3.4 tenant=ops\u0085x\r\nConnection: close\r\n\r\n");
    String line = line(401, "GET /api/v1/queries/" + forged);
    assertThat(line).matches("[!-~]+( [!-~]+){7}").endsWith(" from=127.0.0.1");
  }

  /** Tests a separate server, so that no rejections in other tests are suppressed. */
  @Test
  void loggedRejectionsAreLimitedAndTheRestCounted() throws Exception {
    RestOptions options =
        RestOptions.loopback(0).with(new TokenFile(folder.resolve("tokens.yaml")));
    try (StoredQueries flooded = new StoredQueries(null, "", options)) {
      AtomicLong requests = new AtomicLong();
      Await.until(
          "rejections arrive faster than they are logged",
          TIMEOUT,
          () -> {
            flooded.rest.get("/api/v1/nodes");
            return requests.incrementAndGet() > written() + Audit.REFUSALS_PER_SECOND;
          });
      Await.until(
          "a line that counts the others",
          TIMEOUT,
          () -> {
            flooded.rest.send(
                flooded
                    .rest
                    .request("/api/v1/explain")
                    .header("Authorization", "Bearer " + WEB)
                    .POST(HttpRequest.BodyPublishers.ofString("")));
            return written() + leftOut() == requests.get();
          });
    }
  }

  private static long written() {
    return LINES.stream().filter(line -> line.startsWith("401 ")).count();
  }

  private static long leftOut() {
    return LINES.stream()
        .filter(line -> line.contains(" left_out="))
        .mapToLong(line -> Long.parseLong(line.replaceFirst(".* left_out=", "")))
        .sum();
  }
}
