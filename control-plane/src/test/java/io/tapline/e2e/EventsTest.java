package io.tapline.e2e;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.fasterxml.jackson.databind.JsonNode;
import java.net.ConnectException;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.net.StandardSocketOptions;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.ByteBuffer;
import java.nio.channels.DatagramChannel;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import java.util.stream.StreamSupport;
import org.junit.jupiter.api.Test;

/**
 * Tests the events of a query on an interface. A client gets each event that meets WHERE exactly
 * once, and no others. The stream job counts the same tuples.
 */
@MakesNetworkDevices
class EventsTest {
  private static final int WANTED = 9002;
  private static final int OTHER = 9001;
  private static final int EACH = 200;
  private static final int EXPEDITED = 46;
  private static final long SECONDS = 60;

  @Test
  void clientsGetOnlyEventsThatMatchWhere() throws Exception {
    try (WebLink link = WebLink.open();
        Server server = Server.start("--interface", link.networkInterface())) {
      String id =
          server.submit(
              "PARSE marked_packet(dscp=%d) FROM * TO %s WHERE dst_port = %d LIMIT 1h SAMPLE * "
                      .formatted(EXPEDITED, link.address(), WANTED)
                  + "PROCESS (group-count: group=dst_port, w=1s, s=1s),"
                  + " (trigger: when=\"count > 5 and flows >= 1 and max(dscp) + min(dscp) > 91\","
                  + " group=dst_port, every=1s)");
      server.awaitState(id, "running");
      List<JsonNode> events = events(server, id, link, EventsTest::send, EACH);
      assertThat(events).hasSize(EACH);
      assertThat(events).allMatch(event -> event.get("dst_port").asInt() == WANTED);
      assertThat(events).allMatch(event -> event.get("fields").get("dscp").asInt() == EXPEDITED);
      List<JsonNode> rows = server.rows(id);
      assertThat(
              rows.stream()
                  .filter(row -> !row.has("alert"))
                  .mapToInt(row -> row.get("value").asInt())
                  .sum())
          .as("tuples that the stream job counted")
          .isEqualTo(EACH);
      assertThat(rows.stream().filter(row -> row.at("/alert/state").asText().equals("raised")))
          .as("alerts on several values: %s", rows)
          .isNotEmpty()
          .allMatch(row -> row.get("value").asInt() > 5);
    }
  }

  @Test
  void aBurstWithinTenMillisecondsIsAnEventAndAnAlert() throws Exception {
    List<JsonNode> alerts =
        alerts(
            "PARSE udp_flow FROM * TO %s LIMIT 1h SAMPLE * "
                + "PROCESS (trigger: when=\"sum(bytes) > 5KB\", group=dst_port, every=10ms)",
            EventsTest::burst);
    for (JsonNode alert : alerts) {
      JsonNode fields = alert.get("fields");
      assertThat(alert.get("parser").asText()).isEqualTo("trigger");
      assertThat(fields.get("group").asText()).isEqualTo("dst_port=" + WANTED);
      assertThat(fields.get("value").asLong()).isGreaterThan(5_000);
      long windowNs = fields.get("window_end_ns").asLong() - fields.get("window_start_ns").asLong();
      assertThat(windowNs).isEqualTo(10_000_000);
    }
  }

  @Test
  void attemptsToConnectAreAnAlertForAsLongAsTheyLast() throws Exception {
    List<JsonNode> alerts =
        alerts(
            "PARSE packets FROM * TO %s LIMIT 1h SAMPLE * "
                + "PROCESS (trigger: when=\"count(syn) > 20 and count(rst) / count(syn) > 0.9\","
                + " after=2, group=dst_port, every=100ms)",
            EventsTest::connect);
    for (JsonNode alert : alerts) {
      assertThat(alert.get("fields").get("group").asText()).isEqualTo("dst_port=" + OTHER);
      assertThat(alert.get("fields").get("value").asLong()).isGreaterThan(20);
      assertThat(alert.get("fields").get("certain").asBoolean()).isTrue();
    }
  }

  @Test
  void aLinkThatIsFullForAMillisecondIsAnEventAndAnAlert() throws Exception {
    List<JsonNode> alerts =
        alerts(
            "--tap",
            "edge1:2=",
            "PARSE link_load(link=10000000, every=1ms, flows_above=0.4) FROM * TO * LIMIT 1h SAMPLE * "
                + "PROCESS (trigger: when=\"max(share) > 0.5\", clear=0.4, group=(switch, port),"
                + " every=1ms, cooldown=3ms)",
            EventsTest::burst,
            EventsTest::assertFlowsAreListed);
    for (JsonNode alert : alerts) {
      JsonNode fields = alert.get("fields");
      assertThat(alert.get("parser").asText()).isEqualTo("trigger");
      assertThat(fields.get("group").asText()).isEqualTo("switch=edge1 port=2");
      assertThat(fields.get("low").asDouble()).isGreaterThan(0.4);
      long windowNs = fields.get("window_end_ns").asLong() - fields.get("window_start_ns").asLong();
      assertThat(windowNs).isEqualTo(1_000_000);
      JsonNode tuple = Cli.parse(fields.get("tuple").asText());
      assertThat(tuple.get("switch").asText()).isEqualTo("edge1");
      assertThat(tuple.get("share").asDouble()).isGreaterThan(0.4);
      assertThat(Cli.parse(tuple.get("flows").asText())).isNotEmpty();
    }
  }

  /**
   * Checks that the command and the REST resource show the events with the flow that filled the
   * link.
   */
  private static void assertFlowsAreListed(Server server, List<JsonNode> events) {
    List<JsonNode> listed =
        Cli.run(
                "links",
                "events",
                "--switch",
                "edge1",
                "--limit",
                "1000",
                "--server",
                server.url(),
                "--json")
            .expectSuccess()
            .json();
    assertThat(listed).hasSize(Math.min(events.size(), 1000));
    for (JsonNode event : listed) {
      assertThat(event.get("port").asText()).isEqualTo("2");
      assertThat(event.get("share").asDouble()).isGreaterThan(0.4);
      assertThat(event.get("low_share").asDouble())
          .isLessThanOrEqualTo(event.get("share").asDouble());
      assertThat(event.get("seen_ns").asLong())
          .isGreaterThan(event.get("window_start_ns").asLong());
      assertThat(event.get("flows_left_out").asInt()).isZero();
      assertThat(event.get("flows")).isNotEmpty();
    }
    // Other intervals were filled by connections to the web server.
    assertThat(
            listed.stream()
                .flatMap(event -> StreamSupport.stream(event.get("flows").spliterator(), false)))
        .anySatisfy(
            flow -> {
              assertThat(flow.get("dst_port").asInt()).isEqualTo(WANTED);
              assertThat(flow.get("protocol").asText()).isEqualTo("udp");
              assertThat(flow.get("bits_per_second").asLong()).isPositive();
            });
    assertThat(
            Cli.run("links", "events", "--limit", "1000", "--server", server.url())
                .expectSuccess()
                .stdout())
        .contains("edge1:2", ":" + WANTED + "/udp");
    assertThat(
            Cli.run("links", "events", "--switch", "edge2", "--server", server.url())
                .expectSuccess()
                .stdout())
        .startsWith("no link events");
  }

  private static List<JsonNode> alerts(String query, Traffic traffic) throws Exception {
    return alerts("--interface", "", query, traffic, (server, events) -> {});
  }

  /**
   * Runs a query for an address; returns its events, which the stream job also reports as alerts.
   *
   * @param source the server's option for the interface, whose name follows {@code prefix}
   * @param check called with the events while the server runs
   */
  private static List<JsonNode> alerts(
      String source, String prefix, String query, Traffic traffic, Check check) throws Exception {
    try (WebLink link = WebLink.open();
        Server server = Server.start(source, prefix + link.networkInterface())) {
      String id = server.submit(query.formatted(link.address()));
      server.awaitState(id, "running");
      List<JsonNode> events = events(server, id, link, traffic, 1);
      assertThat(events).isNotEmpty();
      assertThat(server.rows(id)).as("alerts of the stream job").isNotEmpty();
      check.accept(server, events);
      return events;
    }
  }

  /** Tries for a second to connect to a closed port. */
  private static void connect(String address) throws Exception {
    long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(1);
    while (System.nanoTime() < end) {
      assertThatThrownBy(() -> new Socket(address, OTHER).close())
          .isInstanceOf(ConnectException.class);
      Thread.sleep(1);
    }
  }

  private interface Check {
    void accept(Server server, List<JsonNode> events);
  }

  private interface Traffic {
    void send(String address) throws Exception;
  }

  /** Returns all events of a query, which is stopped once {@code count} of them have arrived. */
  private static List<JsonNode> events(
      Server server, String id, WebLink link, Traffic traffic, int count) throws Exception {
    List<JsonNode> events = Collections.synchronizedList(new ArrayList<>());
    CompletableFuture<Void> stream = follow(server.url(), id, events);
    traffic.send(link.address());
    await(events, count);
    Cli.run("query", "stop", id, "--server", server.url()).expectSuccess();
    stream.get(SECONDS, TimeUnit.SECONDS);
    return events;
  }

  /** Sends 200 datagrams in one burst. */
  private static void burst(String address) throws Exception {
    try (DatagramChannel channel = DatagramChannel.open()) {
      for (int i = 0; i < EACH; i++) {
        channel.send(ByteBuffer.wrap(new byte[100]), new InetSocketAddress(address, WANTED));
      }
    }
  }

  /** Adds the events of the query's stream to {@code events} until the stream ends. */
  private static CompletableFuture<Void> follow(String url, String id, List<JsonNode> events) {
    HttpRequest request =
        HttpRequest.newBuilder(URI.create(url + "/api/v1/queries/" + id + "/events")).build();
    return HttpClient.newHttpClient()
        .sendAsync(request, HttpResponse.BodyHandlers.ofLines())
        .thenAccept(
            response -> {
              assertThat(response.statusCode()).isEqualTo(200);
              read(response.body(), events);
            });
  }

  private static void read(Stream<String> lines, List<JsonNode> events) {
    String[] kind = {""};
    lines.forEach(
        line -> {
          if (line.startsWith("event:")) {
            kind[0] = line.substring("event:".length()).strip();
          } else if (line.startsWith("data:") && kind[0].equals("events")) {
            Cli.parse(line.substring("data:".length())).get("events").forEach(events::add);
          }
        });
  }

  private static void send(String address) throws Exception {
    try (DatagramChannel channel = DatagramChannel.open()) {
      channel.setOption(StandardSocketOptions.IP_TOS, EXPEDITED << 2);
      for (int i = 0; i < EACH; i++) {
        for (int port : new int[] {OTHER, WANTED}) {
          channel.send(ByteBuffer.wrap(new byte[] {1}), new InetSocketAddress(address, port));
        }
        Thread.sleep(1);
      }
    }
  }

  private static void await(List<JsonNode> events, int count) throws Exception {
    long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(SECONDS);
    while (events.size() < count && System.nanoTime() < deadline) {
      Thread.sleep(50);
    }
  }
}
