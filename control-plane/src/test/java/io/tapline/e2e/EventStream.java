package io.tapline.e2e;

import com.fasterxml.jackson.databind.JsonNode;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;

/** The events of a query's stream, with the times at which they arrived. */
final class EventStream {
  /** An event and the time of its arrival, in ns since the epoch. */
  record Arrived(JsonNode event, long timeNs) {}

  private final List<Arrived> events = Collections.synchronizedList(new ArrayList<>());
  private final CompletableFuture<Void> stream;

  private EventStream(String url, String id) throws Exception {
    HttpClient client = HttpClient.newHttpClient();
    HttpResponse.BodyHandler<Stream<String>> lines = HttpResponse.BodyHandlers.ofLines();
    // Loads the client's classes, which would otherwise delay the first event.
    client.send(request(url, id), lines).body().forEach(Cli::parse);
    stream =
        client
            .sendAsync(request(url, id + "/events"), lines)
            .thenAccept(response -> read(response.body()));
  }

  /** Follows the stream of a query until it ends. */
  static EventStream of(Server server, String query) throws Exception {
    return new EventStream(server.url(), query);
  }

  private static HttpRequest request(String url, String query) {
    return HttpRequest.newBuilder(URI.create(url + "/api/v1/queries/" + query)).build();
  }

  private void read(Stream<String> lines) {
    lines
        .filter(line -> line.startsWith("data:"))
        .forEach(
            line -> {
              long now = ChronoUnit.NANOS.between(Instant.EPOCH, Instant.now());
              JsonNode data = Cli.parse(line.substring("data:".length()));
              data.path("events").forEach(event -> events.add(new Arrived(event, now)));
            });
  }

  /** Waits for the stream's end and returns all events. */
  List<Arrived> awaitEnd() throws Exception {
    stream.get(60, TimeUnit.SECONDS);
    return List.copyOf(events);
  }
}
