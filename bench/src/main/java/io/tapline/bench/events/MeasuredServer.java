package io.tapline.bench.events;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.net.ConnectException;
import java.net.ServerSocket;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.file.Path;
import java.util.concurrent.TimeUnit;

/**
 * A server with its own agent, monitor, Kafka, Flink and Redis, which captures on a virtual link.
 * Needs root.
 */
public final class MeasuredServer implements AutoCloseable {
  private static final ObjectMapper MAPPER = new ObjectMapper();
  private static final long READY_SECONDS = 120;

  private final HttpClient http = HttpClient.newHttpClient();
  private final MarkedLink link;
  private Process process;
  private String url;

  /**
   * Starts the server.
   *
   * @param tapline path of {@code bin/tapline}
   * @param programs folder with {@code marked_sender}
   */
  public MeasuredServer(Path tapline, Path programs) throws IOException, InterruptedException {
    link = MarkedLink.open(programs);
    try {
      int port = freePort();
      url = "http://127.0.0.1:" + port;
      process =
          new ProcessBuilder(
                  tapline.toString(),
                  "server",
                  "--port",
                  "" + port,
                  "--interface",
                  link.networkInterface())
              .redirectError(ProcessBuilder.Redirect.DISCARD)
              .redirectOutput(ProcessBuilder.Redirect.DISCARD)
              .start();
      awaitReady();
    } catch (IOException | InterruptedException e) {
      close();
      throw e;
    }
  }

  /** Returns the link on which packets arrive. */
  MarkedLink link() {
    return link;
  }

  /** Submits a query, and returns its ID once it runs. */
  String start(String text) throws IOException, InterruptedException {
    String query = MAPPER.readTree(post("/api/v1/queries", text)).path("id").asText();
    while (!state(query).path("state").asText().equals("running")) {
      Thread.sleep(100);
    }
    return query;
  }

  /** Returns the query's state, as REST reports it. */
  JsonNode state(String query) throws IOException, InterruptedException {
    HttpRequest ask = HttpRequest.newBuilder(URI.create(url + "/api/v1/queries/" + query)).build();
    return MAPPER.readTree(http.send(ask, HttpResponse.BodyHandlers.ofString()).body());
  }

  /** Returns the address of the query's event stream. */
  URI events(String query) {
    return URI.create(url + "/api/v1/queries/" + query + "/events");
  }

  private static int freePort() throws IOException {
    try (ServerSocket socket = new ServerSocket(0)) {
      return socket.getLocalPort();
    }
  }

  private void awaitReady() throws IOException, InterruptedException {
    long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(READY_SECONDS);
    while (process.isAlive() && System.nanoTime() < end) {
      try {
        HttpRequest ask = HttpRequest.newBuilder(URI.create(url + "/readyz")).build();
        if (http.send(ask, HttpResponse.BodyHandlers.discarding()).statusCode() == 200) {
          return;
        }
      } catch (ConnectException notYet) {
        // The server is not listening yet.
      }
      Thread.sleep(200);
    }
    throw new IOException("the server is not ready: start it manually to see why");
  }

  private String post(String path, String text) throws IOException, InterruptedException {
    HttpRequest request =
        HttpRequest.newBuilder(URI.create(url + path))
            .header("Content-Type", "text/plain")
            .POST(HttpRequest.BodyPublishers.ofString(text))
            .build();
    HttpResponse<String> response = http.send(request, HttpResponse.BodyHandlers.ofString());
    if (response.statusCode() / 100 != 2) {
      throw new IOException("the server refused the query: " + response.body());
    }
    return response.body();
  }

  @Override
  public void close() throws IOException, InterruptedException {
    if (process != null) {
      process.destroy();
      process.waitFor();
    }
    link.close();
  }
}
