package io.tapline.e2e;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import java.io.IOException;
import java.net.BindException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ThreadLocalRandom;

/** A {@code tapline server} of its own on a free port, ready for queries. */
final class Server implements AutoCloseable {
  private static final long READY_SECONDS = 90;
  private static final long STATE_SECONDS = 150;
  private static final int LOWEST_PORT = 20_000;

  /** Where Linux's net.ipv4.ip_local_port_range begins unless it was changed. */
  private static final int EPHEMERAL_PORTS = 32_768;

  private static final int MOST_ATTEMPTS = 100;
  private static final Set<String> ENDED = Set.of("finished", "failed", "stopped");

  private final Cli.Running running;
  private final int port;

  private Server(Cli.Running running, int port) {
    this.running = running;
    this.port = port;
  }

  static Server start(String... arguments) throws Exception {
    return startAt(freePort(), arguments);
  }

  static Server startAt(int port, String... arguments) throws Exception {
    List<String> all = new ArrayList<>(List.of("server", "--port", Integer.toString(port)));
    all.addAll(List.of(arguments));
    Server server = new Server(Cli.start(Map.of(), all.toArray(String[]::new)), port);
    server.awaitReady();
    return server;
  }

  /**
   * A port that nobody listens on, below those that the system gives to connections and to servers
   * that ask for any: between asking and listening, nobody takes it by chance.
   */
  static int freePort() throws IOException {
    for (int attempt = 0; attempt < MOST_ATTEMPTS; attempt++) {
      int port = ThreadLocalRandom.current().nextInt(LOWEST_PORT, EPHEMERAL_PORTS);
      try (ServerSocket socket = new ServerSocket(port, 1, InetAddress.getLoopbackAddress())) {
        return socket.getLocalPort();
      } catch (BindException taken) {
        // Another, then.
      }
    }
    throw new IOException("no free port from " + LOWEST_PORT + " to " + EPHEMERAL_PORTS);
  }

  String url() {
    return "http://127.0.0.1:" + port;
  }

  Process process() {
    return running.process();
  }

  /** Submits a query and gives its ID. */
  String submit(String query) {
    JsonNode answer =
        Cli.run("query", "submit", query, "--server", url(), "--json")
            .expectSuccess()
            .json()
            .get(0);
    return answer.get("id").asText();
  }

  void awaitState(String id, String wanted) throws Exception {
    long deadline = System.nanoTime() + STATE_SECONDS * 1_000_000_000L;
    String state = "";
    while (System.nanoTime() < deadline) {
      JsonNode query = Cli.parse(get("/api/v1/queries/" + id).body());
      state = query.get("state").asText();
      if (state.equals(wanted)) {
        return;
      }
      assertThat(ENDED).as("state while waiting for %s: %s", wanted, query).doesNotContain(state);
      Thread.sleep(200);
    }
    assertThat(state).as("state of %s", id).isEqualTo(wanted);
  }

  HttpResponse<String> get(String path) throws Exception {
    return HttpClient.newHttpClient()
        .send(
            HttpRequest.newBuilder(URI.create(url() + path)).build(),
            HttpResponse.BodyHandlers.ofString());
  }

  private void awaitReady() throws Exception {
    long deadline = System.nanoTime() + READY_SECONDS * 1_000_000_000L;
    while (System.nanoTime() < deadline) {
      assertThat(process().isAlive()).as("server runs; stderr: %s", running.stderr()).isTrue();
      try {
        if (get("/readyz").statusCode() == 200) {
          return;
        }
      } catch (IOException notYet) {
        // It does not listen yet.
      }
      Thread.sleep(100);
    }
    throw new AssertionError("server not ready; stderr: " + running.stderr());
  }

  @Override
  public void close() {
    process().destroy();
    try {
      running.await(30);
    } finally {
      running.close();
    }
  }
}
