package io.tapline.bench.events;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonToken;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.time.Instant;
import java.util.Arrays;

/** Follows a query's events on its own thread and records the age of each on arrival. */
final class EventClient implements AutoCloseable {
  private static final JsonFactory JSON = new JsonFactory();
  private static final int MOST_SAMPLES = 20_000_000;

  private final InputStream stream;
  private final Thread reader = new Thread(this::read, "events-client");

  /** In ns, of all events since the last {@link #begin}. */
  private long[] ages = new long[1 << 16];

  private int count;
  private long received;
  private long missing;
  private volatile boolean stateEnded;

  EventClient(URI events) throws IOException, InterruptedException {
    HttpRequest request = HttpRequest.newBuilder(events).build();
    stream =
        HttpClient.newBuilder()
            .version(HttpClient.Version.HTTP_1_1)
            .build()
            .send(request, HttpResponse.BodyHandlers.ofInputStream())
            .body();
    reader.setDaemon(true);
    reader.start();
  }

  /** Returns the ages in ns of the events since the last {@link #begin}, ascending. */
  synchronized long[] ages() {
    long[] sorted = Arrays.copyOf(ages, count);
    Arrays.sort(sorted);
    return sorted;
  }

  synchronized void begin() {
    count = 0;
  }

  /** Returns the events that the server received, of which all before have arrived here. */
  synchronized long received() {
    return received;
  }

  /** Returns the events that the server knows are missing. */
  synchronized long missing() {
    return missing;
  }

  boolean ended() {
    return stateEnded;
  }

  private void read() {
    try (BufferedReader lines =
        new BufferedReader(new InputStreamReader(stream, StandardCharsets.UTF_8), 1 << 16)) {
      String name = "";
      for (String line = lines.readLine(); line != null; line = lines.readLine()) {
        if (line.startsWith("event: ")) {
          name = line.substring(7);
        } else if (name.equals("events") && line.startsWith("data: ")) {
          take(line);
        }
      }
      stateEnded = true;
    } catch (IOException closed) {
      stateEnded = true;
    }
  }

  private synchronized void take(String line) throws IOException {
    Instant now = Instant.now();
    long nowNs = now.getEpochSecond() * 1_000_000_000L + now.getNano();
    try (JsonParser json = JSON.createParser(line.substring(6))) {
      for (JsonToken token = json.nextToken(); token != null; token = json.nextToken()) {
        if (token == JsonToken.FIELD_NAME) {
          String field = json.currentName();
          json.nextToken();
          switch (field) {
            case "received" -> received = json.getLongValue();
            case "missing" -> missing = json.getLongValue();
            case "time_ns" -> add(nowNs - json.getLongValue());
            default -> {}
          }
        }
      }
    }
  }

  private void add(long age) {
    if (count == ages.length && count < MOST_SAMPLES) {
      ages = Arrays.copyOf(ages, 2 * count);
    }
    if (count < ages.length) {
      ages[count++] = age;
    }
  }

  @Override
  public void close() throws IOException {
    stream.close();
  }
}
