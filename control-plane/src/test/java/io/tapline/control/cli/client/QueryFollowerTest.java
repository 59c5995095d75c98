package io.tapline.control.cli.client;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.Executor;
import java.util.concurrent.TimeUnit;
import javax.net.ssl.SSLContext;
import org.junit.jupiter.api.Test;

class QueryFollowerTest {
  private static final String WINDOW = "event: window\nid: 1-0\ndata: {\"rows\": []}\n\n";
  private static final String END = "event: state\ndata: {\"state\": \"finished\"}\n\n";

  /** Time for which no server listens; the follower tries to connect after 500 ms. */
  private static final Executor LATER =
      CompletableFuture.delayedExecutor(700, TimeUnit.MILLISECONDS);

  /** The Last-Event-ID of each request. */
  private final List<String> cursors = new CopyOnWriteArrayList<>();

  private HttpServer serve(int port, String events) {
    try {
      HttpServer server =
          HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), port), 0);
      server.createContext(
          "/api/v1/queries/q/events",
          exchange -> {
            byte[] body = events.getBytes(StandardCharsets.UTF_8);
            cursors.add(String.valueOf(exchange.getRequestHeaders().getFirst("Last-Event-ID")));
            exchange.sendResponseHeaders(200, body.length);
            exchange.getResponseBody().write(body);
            exchange.close();
          });
      server.start();
      return server;
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private static QueryFollower follower(int port) throws Exception {
    String url = "http://127.0.0.1:" + port;
    return new QueryFollower(new ApiClient(url, "", SSLContext.getDefault()), "q");
  }

  @Test
  void aServerThatRefusesConnectionsDuringItsRestartIsTriedAgain() throws Exception {
    HttpServer first = serve(0, WINDOW);
    int port = first.getAddress().getPort();
    List<String> windows = new CopyOnWriteArrayList<>();
    List<CompletableFuture<HttpServer>> restarts = new CopyOnWriteArrayList<>();
    follower(port)
        .untilEnd(
            window -> {
              windows.add(window.entry());
              first.stop(0);
              restarts.add(CompletableFuture.supplyAsync(() -> serve(port, END), LATER));
            });
    assertThat(windows).containsExactly("1-0");
    assertThat(restarts).hasSize(1);
    restarts.get(0).get().stop(0);
    assertThat(cursors).containsExactly("null", "1-0");
  }

  @Test
  void aServerThatKeepsRefusingConnectionsIsNamed() throws Exception {
    QueryFollower follower = follower(1);
    assertThatThrownBy(() -> follower.untilEnd(window -> {}))
        .isInstanceOf(ApiClient.Unreachable.class)
        .hasMessageStartingWith("no server answers at http://127.0.0.1:1:");
  }
}
