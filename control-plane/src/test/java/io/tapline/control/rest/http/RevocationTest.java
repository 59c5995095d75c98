package io.tapline.control.rest.http;

import static org.assertj.core.api.Assertions.assertThat;

import io.tapline.control.access.Token;
import io.tapline.control.access.TokenFile;
import io.tapline.control.rest.RestOptions;
import io.tapline.control.rest.StoredQueries;
import io.tapline.control.testing.Await;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.net.SocketException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Tests tokens that are revoked while their holders follow a query. */
class RevocationTest {
  /** A limit far below the 15 s after which an idle stream sends a keep-alive. */
  private static final Duration TIMEOUT = Duration.ofSeconds(5);

  private static final String REVOKED = Token.newSecret();
  private static final String KEPT = Token.newSecret();

  @TempDir Path folder;
  private Path file;
  private StoredQueries stored;

  @BeforeEach
  void start() throws Exception {
    file = folder.resolve("tokens.yaml");
    write(entry(REVOKED, ""));
    stored = new StoredQueries(null, "", RestOptions.loopback(0).with(new TokenFile(file)));
    stored.add("q1", "running");
  }

  @AfterEach
  void stop() throws Exception {
    stored.close();
  }

  private static String entry(String secret, String furtherText) {
    return "  - {role: admin, tenant: ops, sha256: %s%s}\n"
        .formatted(Token.hash(secret), furtherText);
  }

  /** Writes a token file with the token to keep, followed by {@code others}. */
  private void write(String others) throws Exception {
    Files.writeString(file, "tokens:\n" + entry(KEPT, "") + others);
  }

  private Socket follow(String secret, int receiveBytes) throws Exception {
    Socket socket = new Socket();
    socket.setReceiveBufferSize(receiveBytes);
    socket.setSoTimeout((int) TIMEOUT.toMillis());
    socket.connect(new InetSocketAddress("127.0.0.1", stored.server.port()));
    String head =
        "GET /api/v1/queries/q1/events HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer %s\r\n\r\n";
    socket.getOutputStream().write(head.formatted(secret).getBytes(StandardCharsets.UTF_8));
    return socket;
  }

  private static BufferedReader reader(Socket socket) throws Exception {
    return new BufferedReader(
        new InputStreamReader(socket.getInputStream(), StandardCharsets.UTF_8));
  }

  private static void readUntil(BufferedReader in, String text) throws Exception {
    String line = in.readLine();
    while (!line.contains(text)) {
      line = in.readLine();
      assertThat(line).as("the stream's end, instead of " + text).isNotNull();
    }
  }

  private int open() throws Exception {
    return metric("tapline_event_streams");
  }

  private int metric(String name) throws Exception {
    String metrics =
        stored
            .rest
            .send(stored.rest.request("/metrics").header("Authorization", "Bearer " + KEPT))
            .body();
    return (int) Double.parseDouble(metrics.replaceAll("(?s).*\n" + name + " ([0-9.]+)\n.*", "$1"));
  }

  private void endsAfter(String tokens) throws Exception {
    try (Socket revoked = follow(REVOKED, 1 << 16);
        Socket keptSocket = follow(KEPT, 1 << 16)) {
      BufferedReader ofRevoked = reader(revoked);
      BufferedReader ofKept = reader(keptSocket);
      readUntil(ofRevoked, "\"running\"");
      readUntil(ofKept, "\"running\"");
      write(tokens);
      Await.until("the stream ends", TIMEOUT, () -> open() == 1);
      stored.window("q1", 7, 0, 1);
      readUntil(ofKept, "id: 7-0");
      StringBuilder rest = new StringBuilder();
      for (String line = ofRevoked.readLine(); !"0".equals(line); line = ofRevoked.readLine()) {
        rest.append(line);
      }
      assertThat(rest).doesNotContain("id: ");
    }
  }

  @Test
  void aStreamEndsWithItsToken() throws Exception {
    endsAfter("");
  }

  @Test
  void aStreamEndsWhenItsTokenExpires() throws Exception {
    endsAfter(entry(REVOKED, ", expires: 2026-01-01"));
  }

  @Test
  void aStreamEndsWhenItsTokenAllowsLess() throws Exception {
    endsAfter(
        "  - {role: viewer, tenant: web, subnets: [10.0.0.0/8], sha256: %s}\n"
            .formatted(Token.hash(REVOKED)));
  }

  @Test
  void aClientThatDoesNotReadIsDisconnected() throws Exception {
    for (int i = 1; i <= 40; i++) {
      stored.window("q1", i, 0, 2000);
    }
    try (Socket revoked = follow(REVOKED, 1 << 12)) {
      Await.until("it is open", TIMEOUT, () -> open() == 1);
      Thread.sleep(500); // Writes until the sockets are full.
      write("");
      Await.until("the stream ends", TIMEOUT, () -> open() == 0);
    }
  }

  /** Tests responses whose handlers are waiting for the rest of the request's body. */
  @Test
  void otherActiveResponsesAreCutOff() throws Exception {
    try (Socket revoked = explain(REVOKED);
        Socket keptSocket = explain(KEPT)) {
      Await.until("both are active", TIMEOUT, () -> metric("tapline_http_active") == 3);
      write("");
      assertThat(readToEnd(revoked)).doesNotContain("HTTP/1.1 200");
      keptSocket
          .getOutputStream()
          .write(StoredQueries.QUERY.substring(10).getBytes(StandardCharsets.UTF_8));
      assertThat(readToEnd(keptSocket)).startsWith("HTTP/1.1 200 ");
    }
  }

  private Socket explain(String secret) throws Exception {
    Socket socket = new Socket("127.0.0.1", stored.server.port());
    socket.setSoTimeout((int) TIMEOUT.toMillis());
    String query = StoredQueries.QUERY;
    String head =
        "POST /api/v1/explain HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nAuthorization: Bearer %s\r\nContent-Type: text/plain\r\nContent-Length: %d\r\n\r\n%s"
            .formatted(secret, query.length(), query.substring(0, 10));
    socket.getOutputStream().write(head.getBytes(StandardCharsets.UTF_8));
    return socket;
  }

  private static String readToEnd(Socket socket) throws Exception {
    try {
      return new String(socket.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
    } catch (SocketException reset) {
      return "";
    }
  }
}
