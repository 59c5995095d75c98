package io.tapline.e2e;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import io.tapline.control.testing.FreePort;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;

/** A separate {@code tapline server} process on a free port, ready for queries. */
final class Server implements AutoCloseable {
  private static final long READY_SECONDS = 90;
  private static final long STATE_SECONDS = 150;
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

  /** Starts a server with additional environment variables. */
  static Server start(Map<String, String> environment, String... arguments) throws Exception {
    return start(environment, freePort(), arguments);
  }

  static Server startAt(int port, String... arguments) throws Exception {
    return start(Map.of(), port, arguments);
  }

  private static Server start(Map<String, String> environment, int port, String... arguments)
      throws Exception {
    List<String> all = new ArrayList<>(List.of("server", "--port", Integer.toString(port)));
    all.addAll(List.of(arguments));
    Server server = new Server(Cli.start(environment, all.toArray(String[]::new)), port);
    server.awaitReady();
    return server;
  }

  /** Starts a server from the checkout of another version. */
  static Server startVersion(Path root, String... arguments) throws Exception {
    int port = freePort();
    List<String> all = new ArrayList<>(List.of(root.resolve("bin/tapline").toString()));
    all.addAll(List.of("server", "--port", Integer.toString(port)));
    all.addAll(List.of(arguments));
    Server server = new Server(Cli.startCommand(Map.of(), all), port);
    server.awaitReady();
    return server;
  }

  static int freePort() throws IOException {
    return FreePort.any();
  }

  int port() {
    return port;
  }

  String url() {
    return "http://127.0.0.1:" + port;
  }

  Process process() {
    return running.process();
  }

  /** Submits a query and returns its ID. */
  String submit(String query) {
    JsonNode response =
        Cli.run("query", "submit", query, "--server", url(), "--json")
            .expectSuccess()
            .json()
            .get(0);
    return response.get("id").asText();
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

  /** Posts a string and returns the JSON response. */
  JsonNode post(String path, String text) throws Exception {
    HttpResponse<String> response =
        HttpClient.newHttpClient()
            .send(
                HttpRequest.newBuilder(URI.create(url() + path))
                    .header("Content-Type", "text/plain")
                    .POST(HttpRequest.BodyPublishers.ofString(text))
                    .build(),
                HttpResponse.BodyHandlers.ofString());
    assertThat(response.statusCode()).as(response.body()).isBetween(200, 299);
    return Cli.parse(response.body());
  }

  /** Returns all result rows of a query so far. */
  List<JsonNode> rows(String id) throws Exception {
    List<JsonNode> rows = new ArrayList<>();
    String cursor = "";
    JsonNode page;
    do {
      page = Cli.parse(get("/api/v1/queries/" + id + "/results?after=" + cursor).body());
      page.get("rows").forEach(rows::add);
      cursor = page.get("last_entry").asText();
    } while (!page.get("rows").isEmpty());
    return rows;
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
        // The server is not listening yet.
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
