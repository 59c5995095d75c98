package io.tapline.control.rest;

import static org.assertj.core.api.Assertions.assertThat;

import io.tapline.control.testing.Await;
import java.io.IOException;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

class ShutdownTest {
  private static final String HEAD =
      "POST /api/v1/explain HTTP/1.1\r\nHost: localhost\r\nContent-Type: text/plain\r\nContent-Length: %d\r\n\r\n";

  @Test
  void activeRequestsFinishAndThePortIsReleased() throws Exception {
    try (StoredQueries storedQueries = new StoredQueries()) {
      int port = storedQueries.server.port();
      try (Socket socket = new Socket("127.0.0.1", port)) {
        socket.setSoTimeout(10_000);
        String query = StoredQueries.QUERY;
        send(socket, HEAD.formatted(query.length()) + query.substring(0, 10));
        // The metrics count two active requests, since the request for them is active, too.
        Await.until("the request is active", Duration.ofSeconds(5), () -> underWay(storedQueries));
        CompletableFuture<Void> closed = CompletableFuture.runAsync(storedQueries.server::close);
        Await.until("no server listens", Duration.ofSeconds(5), () -> !listening(port));
        assertThat(closed).isNotDone();
        send(socket, query.substring(10));
        String response =
            new String(socket.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        assertThat(response).startsWith("HTTP/1.1 200 ").contains("\"plan\"");
        closed.get(5, TimeUnit.SECONDS);
      }
      RestServer.start(storedQueries.queries(), null, RestOptions.loopback(port)).close();
    }
  }

  private static boolean underWay(StoredQueries storedQueries) throws Exception {
    return storedQueries.rest.get("/metrics").body().contains("tapline_http_active 2.0");
  }

  private static void send(Socket socket, String text) throws IOException {
    socket.getOutputStream().write(text.getBytes(StandardCharsets.UTF_8));
  }

  private static boolean listening(int port) {
    try (Socket socket = new Socket("127.0.0.1", port)) {
      return socket.isConnected();
    } catch (IOException e) {
      return false;
    }
  }
}
