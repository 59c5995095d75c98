package io.tapline.e2e;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import io.tapline.control.testing.Await;
import java.net.InetSocketAddress;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.ByteBuffer;
import java.nio.channels.DatagramChannel;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Tests thousands of watches in an interface's monitor, added by a single request. */
@MakesNetworkDevices
class ManyWatchesTest {
  private static final Duration TIMEOUT = Duration.ofSeconds(150);
  private static final int WATCHES = 4096;

  /** Indexes of the watches whose packets the test sends. */
  private static final List<Integer> SENT = List.of(0, 1, 2047, 4095);

  private static final int FIRST_PORT = 20_000;

  private WebLink link;
  private Server server;

  @BeforeEach
  void start() throws Exception {
    link = WebLink.open();
    server = Server.start("--interface", link.networkInterface());
  }

  @AfterEach
  void stop() throws Exception {
    if (server != null) {
      server.close();
    }
    if (link != null) {
      link.close();
    }
  }

  private static String watch(int port) {
    return "{\"filter\":\"dst_port == %d\",\"when\":\"sum(bytes) > 0\",\"every_ns\":10000000,\"run\":\"monitor\"}"
        .formatted(port);
  }

  private HttpResponse<String> add(String watches) throws Exception {
    HttpRequest request =
        HttpRequest.newBuilder(URI.create(server.url() + "/api/v1/watches"))
            .header("Content-Type", "application/json")
            .POST(HttpRequest.BodyPublishers.ofString("{\"watches\":[" + watches + "]}"))
            .build();
    return HttpClient.newHttpClient().send(request, HttpResponse.BodyHandlers.ofString());
  }

  private static String many(int firstPort) {
    List<String> watches = new ArrayList<>();
    for (int i = 0; i < WATCHES; i++) {
      watches.add(watch(firstPort + i));
    }
    return String.join(",", watches);
  }

  private JsonNode list() throws Exception {
    return Cli.parse(server.get("/api/v1/watches").body()).path("watches");
  }

  private boolean allCount() throws Exception {
    for (JsonNode watch : list()) {
      if (!watch.has("counting_since_ns")) {
        return false;
      }
    }
    return true;
  }

  /** Returns the watches that have raised alerts. */
  private Set<String> alerted() throws Exception {
    Set<String> watches = new HashSet<>();
    Cli.parse(server.get("/api/v1/alerts").body())
        .path("alerts")
        .forEach(alert -> watches.add(alert.path("watch").asText()));
    return watches;
  }

  private void send(int firstPort) throws Exception {
    try (DatagramChannel channel = DatagramChannel.open()) {
      for (int number : SENT) {
        channel.send(
            ByteBuffer.wrap(new byte[100]),
            new InetSocketAddress(link.address(), firstPort + number));
      }
    }
  }

  @Test
  void thousandsOfWatchesCountWithOneRequest() throws Exception {
    // The first watch starts the query that evaluates all watches with windows of 10 ms.
    String first = Cli.parse(add(watch(9)).body()).path("watches").get(0).path("id").asText();
    Await.until("the first watch counts", TIMEOUT, this::allCount);
    for (int round = 0; round < 2; round++) {
      int port = FIRST_PORT + round * WATCHES;
      long beginNs = System.nanoTime();
      HttpResponse<String> response = add(many(port));
      long answeredNs = System.nanoTime();
      assertThat(response.statusCode()).as(response.body().substring(0, 200)).isEqualTo(201);
      Await.until("all count", TIMEOUT, this::allCount);
      System.out.printf(
          "%d watches added over REST: response after %d ms, all active within %d ms%n",
          WATCHES, (answeredNs - beginNs) / 1_000_000, (System.nanoTime() - beginNs) / 1_000_000);
      JsonNode added = Cli.parse(response.body()).path("watches");
      Set<String> expected = new HashSet<>();
      SENT.forEach(number -> expected.add(added.get(number).path("id").asText()));
      Await.until(
          "alerts",
          TIMEOUT,
          () -> {
            send(port);
            return alerted().containsAll(expected);
          });
    }
    assertThat(alerted())
        .as("watches with alerts: only those whose packets were sent")
        .hasSize(2 * SENT.size());
    Set<String> queries = new HashSet<>();
    list().forEach(watch -> queries.add(watch.path("query").asText()));
    assertThat(queries).as("one query evaluates all").hasSize(1);
    Cli.run("watch", "remove", first, "--server", server.url()).expectSuccess();
    assertThat(list()).hasSize(2 * WATCHES);
  }

  @Test
  void aListWithAWrongWatchAddsNone() throws Exception {
    HttpResponse<String> response =
        add(
            many(FIRST_PORT)
                + ",{\"filter\":\"ttl < 5\",\"when\":\"count > 5\",\"run\":\"monitor\"}");
    assertThat(response.statusCode()).isEqualTo(400);
    assertThat(response.body()).contains("watches[4096]", "a monitor can't run the watch");
    assertThat(list()).isEmpty();
  }
}
