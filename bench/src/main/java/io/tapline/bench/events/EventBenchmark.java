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
 * Measures the latency of events, from a packet's arrival at an interface to the event's arrival at
 * a client of the server's event stream. Uses a real server with its own agent, monitor, Kafka,
 * Flink and Redis. Needs root.
 */
public final class EventBenchmark implements AutoCloseable {
  private static final ObjectMapper MAPPER = new ObjectMapper();
  private static final long READY_SECONDS = 120;
  private static final long SETTLE_SECONDS = 5;
  private static final String QUERY =
      "PARSE marked_packet(dscp=%d) FROM * TO * LIMIT 3600s SAMPLE * PROCESS (top-k: k=3, w=10s)";

  private final HttpClient http = HttpClient.newHttpClient();
  private final MarkedLink link;
  private Process server;
  private String url;
  private String query;
  private EventClient client;

  /**
   * The outcomes of one phase's packets.
   *
   * @param sent packets
   * @param received events that arrived
   * @param missing events dropped for lack of room, counted by the server
   * @param unseen packets that reached no parser, counted by the monitor
   * @param agesNs ns from a packet to its event's arrival, ascending
   */
  public record Phase(long sent, long received, long missing, long unseen, long[] agesNs) {
    /** Returns a percentile of the ages in ms; NaN if there are none. */
    public double percentileMs(double percent) {
      if (agesNs.length == 0) {
        return Double.NaN;
      }
      int index = (int) Math.ceil(percent / 100 * agesNs.length) - 1;
      return agesNs[Math.max(0, index)] / 1e6;
    }
  }

  /**
   * Starts a server that captures on a virtual link, and then a query.
   *
   * @param tapline path of {@code bin/tapline}
   * @param programs folder with {@code marked_sender}
   */
  public EventBenchmark(Path tapline, Path programs) throws IOException, InterruptedException {
    link = MarkedLink.open(programs);
    try {
      int port = freePort();
      url = "http://127.0.0.1:" + port;
      server =
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
      JsonNode submitted =
          MAPPER.readTree(post("/api/v1/queries", QUERY.formatted(MarkedLink.CODE_POINT)));
      query = submitted.path("id").asText();
      while (!state().path("state").asText().equals("running")) {
        Thread.sleep(100);
      }
      client = new EventClient(URI.create(url + "/api/v1/queries/" + query + "/events"));
    } catch (IOException | InterruptedException e) {
      close();
      throw e;
    }
  }

  private static int freePort() throws IOException {
    try (ServerSocket socket = new ServerSocket(0)) {
      return socket.getLocalPort();
    }
  }

  private void awaitReady() throws IOException, InterruptedException {
    long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(READY_SECONDS);
    while (server.isAlive() && System.nanoTime() < end) {
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

  private JsonNode state() throws IOException, InterruptedException {
    HttpRequest ask = HttpRequest.newBuilder(URI.create(url + "/api/v1/queries/" + query)).build();
    return MAPPER.readTree(http.send(ask, HttpResponse.BodyHandlers.ofString()).body());
  }

  /** Returns the number of packets that the monitor counted as lost before any parser saw them. */
  private long unseen() throws IOException, InterruptedException {
    JsonNode dropped = state().at("/totals/dropped");
    return dropped.path("kernel_missed").asLong() + dropped.path("queue_full").asLong();
  }

  /** Sends marked packets at a rate, and waits for their outcomes. */
  public Phase measure(int perSecond, int seconds) throws IOException, InterruptedException {
    long receivedBefore = client.received();
    long missingBefore = client.missing();
    long unseenBefore = unseen();
    client.begin();
    long sent = link.send(perSecond, seconds);
    settle(sent, receivedBefore, missingBefore, unseenBefore);
    return new Phase(
        sent,
        client.received() - receivedBefore,
        client.missing() - missingBefore,
        unseen() - unseenBefore,
        client.ages());
  }

  /** Waits until all packets are accounted for and events stop arriving, or a time limit passes. */
  private void settle(long sent, long receivedBefore, long missingBefore, long unseenBefore)
      throws IOException, InterruptedException {
    long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(SETTLE_SECONDS);
    for (long previousNumber = -1; System.nanoTime() < end; Thread.sleep(500)) {
      long received = client.received();
      long known =
          received - receivedBefore + client.missing() - missingBefore + unseen() - unseenBefore;
      if (received == previousNumber && known >= sent) {
        return;
      }
      previousNumber = received;
    }
  }

  @Override
  public void close() throws IOException, InterruptedException {
    if (client != null) {
      client.close();
    }
    if (server != null) {
      server.destroy();
      server.waitFor();
    }
    link.close();
  }
}
