package io.tapline.control.rest.events;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assertions.assertTimeoutPreemptively;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.tapline.control.rest.Rest;
import io.tapline.control.rest.RestOptions;
import io.tapline.control.rest.StoredQueries;
import io.tapline.control.testing.Await;
import io.tapline.schema.rpc.EventBatch;
import io.tapline.schema.rpc.EventList;
import io.tapline.schema.rpc.EventSchema;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.StringReader;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import redis.clients.jedis.Jedis;

@Timeout(60)
class EventsTest {
  private static final ObjectMapper MAPPER = new ObjectMapper();
  private static final String EVENTS = "/api/v1/queries/q-1/events";
  private static final int MAX_STREAMS = 32;
  private static final Duration TIMEOUT = Duration.ofSeconds(10);

  private StoredQueries stored;
  private int windows;

  @BeforeEach
  void start() throws Exception {
    stored = new StoredQueries(null, "", RestOptions.loopback(0).streams(MAX_STREAMS));
    stored.add("q-1", "running");
  }

  @AfterEach
  void stop() throws Exception {
    stored.close();
  }

  private record Event(String name, String id, JsonNode data) {}

  /** Returns the next event; null at the end of the stream. Skips comments. */
  private static Event next(BufferedReader stream) throws IOException {
    String name = "";
    String id = "";
    JsonNode data = null;
    for (String line = stream.readLine(); line != null; line = stream.readLine()) {
      if (line.startsWith("event: ")) {
        name = line.substring(7);
      } else if (line.startsWith("id: ")) {
        id = line.substring(4);
      } else if (line.startsWith("data: ")) {
        data = MAPPER.readTree(line.substring(6));
      } else if (line.isEmpty() && data != null) {
        return new Event(name, id, data);
      }
    }
    return null;
  }

  private static List<Event> all(String text) throws IOException {
    List<Event> events = new ArrayList<>();
    BufferedReader reader = new BufferedReader(new StringReader(text));
    for (Event event = next(reader); event != null; event = next(reader)) {
      events.add(event);
    }
    return events;
  }

  @Test
  void reportsWindowsAsTheyArriveAndEndsAfterTheFinalState() throws Exception {
    stored.window("q-1", 1, 0, 3);
    try (BufferedReader stream = stored.rest.events(EVENTS)) {
      Event state = next(stream);
      assertThat(state.name()).isEqualTo("state");
      assertThat(state.id()).isEmpty();
      assertThat(state.data().path("state").asText()).isEqualTo("running");
      assertThat(next(stream).id()).isEqualTo("1-0");

      stored.window("q-1", 2, 1, 2);
      Event window = next(stream);
      assertThat(window.name()).isEqualTo("window");
      assertThat(window.id()).isEqualTo("2-1");
      assertThat(window.data().path("processor").asInt()).isEqualTo(1);
      assertThat(window.data().path("name").asText()).isEqualTo("diff-group");
      assertThat(window.data().path("window_end_ns").asLong()).isEqualTo(2_000_000_000L);
      assertThat(window.data().path("rows")).hasSize(2);
      assertThat(window.data().path("completeness").path("packets_in").asLong()).isEqualTo(7);

      stored.window("q-1", 3, 0, 1);
      stored.state("q-1", "finished");
      assertThat(next(stream).id()).isEqualTo("3-0");
      Event end = next(stream);
      assertThat(end.name()).isEqualTo("state");
      assertThat(end.data().path("state").asText()).isEqualTo("finished");
      assertThat(end.id()).isEqualTo(EventStreams.END);
      assertThat(next(stream)).isNull();
    }
  }

  /** Reports a batch of one event, in the format that agents use. */
  private void report(int number) throws InterruptedException {
    EventList list =
        EventList.newBuilder()
            .addSchemas(EventSchema.newBuilder().setParser("http_get"))
            .addEvents(io.tapline.schema.rpc.Event.newBuilder().setTimeNs(number))
            .build();
    EventBatch batch =
        EventBatch.newBuilder()
            .setQuery("q-1")
            .setMonitor("h1")
            .setIncarnation(1)
            .setFirst(number)
            .setCount(1)
            .setEvents(list.toByteString())
            .build();
    stored.queries().events().events("h1", batch, next -> {});
    stored.queries().events().drain();
  }

  @Test
  void reportsEventsOfParsersAndResumesAfterThem() throws Exception {
    stored.queries().events().open("q-1", false);
    report(0);
    String last;
    try (BufferedReader stream = stored.rest.events(EVENTS)) {
      assertThat(next(stream).name()).isEqualTo("state");
      Event first = next(stream);
      assertThat(first.name()).isEqualTo("events");
      assertThat(first.id()).isEqualTo(",1");
      stored.window("q-1", 1, 0, 1);
      assertThat(next(stream).id()).isEqualTo("1-0,1");
      report(3);
      Event second = next(stream);
      assertThat(second.id()).isEqualTo("1-0,2");
      assertThat(second.data().path("monitor").asText()).isEqualTo("h1");
      assertThat(second.data().path("missing").asInt()).isEqualTo(2);
      assertThat(second.data().at("/events/0/time_ns").asInt()).isEqualTo(3);
      last = second.id();
    }
    for (int number = 4; number < 300; number++) {
      report(number);
    }
    stored.queries().events().close("q-1");
    stored.state("q-1", "finished");
    List<Event> rest =
        all(stored.rest.send(stored.rest.request(EVENTS).header("Last-Event-ID", last)).body());
    assertThat(rest).hasSize(297);
    assertThat(rest.get(0).id()).isEqualTo("1-0,3");
    assertThat(rest.get(295).data().at("/events/0/time_ns").asInt()).isEqualTo(299);
  }

  @Test
  void aForeignIdIsRejected() throws Exception {
    for (String id : List.of("x", "1-0,", "1-0,x", "1-0,1,2", ",-1")) {
      HttpRequest.Builder request = stored.rest.request(EVENTS).header("Last-Event-ID", id);
      assertThat(stored.rest.send(request).statusCode()).as(id).isEqualTo(400);
    }
  }

  @Test
  void resumesAfterTheLastReceivedEvent() throws Exception {
    for (int number = 1; number <= 200; number++) {
      stored.window("q-1", number, 0, 1);
    }
    stored.state("q-1", "stopped");
    List<Event> wholeEvents = all(stored.rest.get(EVENTS).body());
    assertThat(wholeEvents).hasSize(201);
    List<Event> rest =
        all(stored.rest.send(stored.rest.request(EVENTS).header("Last-Event-ID", "150-0")).body());
    assertThat(rest).isEqualTo(wholeEvents.subList(150, 201));
  }

  @Test
  void clientsThatHaveSeenTheEndGetNoContent() throws Exception {
    stored.state("q-1", "finished");
    HttpRequest.Builder resumed =
        stored.rest.request(EVENTS).header("Last-Event-ID", EventStreams.END);
    assertThat(stored.rest.send(resumed).statusCode()).isEqualTo(204);
  }

  @Test
  void streamsAreBoundedAndReleased() throws Exception {
    List<BufferedReader> streams = new ArrayList<>();
    for (int i = 0; i < MAX_STREAMS; i++) {
      BufferedReader stream = stored.rest.events(EVENTS);
      next(stream);
      streams.add(stream);
    }
    HttpResponse<String> refusedResponse = stored.rest.get(EVENTS);
    Rest.problem(refusedResponse, 429, "too-many-event-streams");
    assertThat(refusedResponse.headers().firstValue("Retry-After")).isPresent();
    assertThat(stored.rest.get("/healthz").statusCode()).isEqualTo(200);

    for (BufferedReader stream : streams) {
      stream.close();
    }
    Await.until("streams are available again", TIMEOUT, this::writtenToAndFewer);
    try (BufferedReader stream = stored.rest.events(EVENTS)) {
      assertThat(next(stream).name()).isEqualTo("state");
    }
  }

  /**
   * Adds a window, which the server writes to all streams, and returns true if the server has
   * detected that all clients disconnected. This takes two writes: the first makes the client's
   * host reset the connection, and the second fails.
   */
  private boolean writtenToAndFewer() throws Exception {
    stored.window("q-1", ++windows, 0, 1);
    return gauge("tapline_event_streams") == 0;
  }

  private double gauge(String name) throws Exception {
    return stored
        .rest
        .get("/metrics")
        .body()
        .lines()
        .filter(line -> line.startsWith(name + " "))
        .mapToDouble(line -> Double.parseDouble(line.substring(name.length() + 1)))
        .findFirst()
        .orElseThrow();
  }

  @Test
  void closingTheServerEndsStreams() throws Exception {
    BufferedReader stream = stored.rest.events(EVENTS);
    assertThat(next(stream).name()).isEqualTo("state");
    assertTimeoutPreemptively(Duration.ofSeconds(3), () -> stored.server.close());
    assertThat(next(stream)).isNull();
  }

  /**
   * Tests a server that closes while the stream's thread is writing, and not yet waiting for an
   * event.
   */
  @Test
  void closingTheServerEndsAStreamThatIsBeingWritten() throws Exception {
    for (int number = 1; number <= 200; number++) {
      stored.window("q-1", number, 0, 5);
    }
    try (BufferedReader stream = stored.rest.events(EVENTS)) {
      assertThat(next(stream).name()).isEqualTo("state");
      assertTimeoutPreemptively(Duration.ofSeconds(3), () -> stored.server.close());
    }
  }

  @Test
  void aForgottenQueryEndsItsStreams() throws Exception {
    try (BufferedReader stream = stored.rest.events(EVENTS)) {
      assertThat(next(stream).name()).isEqualTo("state");
      try (Jedis client = stored.redis.client()) {
        client.del("tapline:query:q-1");
      }
      assertThat(next(stream)).isNull();
    }
  }
}
