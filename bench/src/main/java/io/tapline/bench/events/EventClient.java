package io.tapline.bench.events;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonToken;
import java.io.IOException;
import java.io.InputStream;
import java.net.URI;
import java.time.Instant;
import java.util.Arrays;

/** Follows a query's events on its own thread and records the age of each on arrival. */
final class EventClient implements AutoCloseable {
  private static final JsonFactory JSON = new JsonFactory();
  private static final int MAX_SAMPLES = 20_000_000;

  private final InputStream stream;
  private final Thread reader = new Thread(this::read, "events-client");

  /** Ages in ns of the events since the last {@link #begin}; {@code count} of them are valid. */
  private long[] ages = new long[1 << 16];

  private int count;
  private long received;
  private long missing;

  /** Bytes of the stream up to {@code filled}; the next line begins at {@code start}. */
  private byte[] buffer = new byte[1 << 16];

  private int start;
  private int filled;

  EventClient(URI events) throws IOException {
    stream = events.toURL().openStream();
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

  /** Returns the server's count of received events as of the last event that this client read. */
  synchronized long received() {
    return received;
  }

  /** Returns the number of events that the server reported as missing. */
  synchronized long missing() {
    return missing;
  }

  private void read() {
    try {
      boolean events = false;
      for (int end = nextLine(); end >= 0; end = nextLine()) {
        if (startsWith("event: ", end)) {
          events = startsWith("event: events", end);
        } else if (events && startsWith("data: ", end)) {
          take("data: ".length(), end);
        }
        start = end + 1;
      }
    } catch (IOException e) {
      // The benchmark has ended.
    }
  }

  /**
   * Returns the end of the next line; -1 after the last one. May move the line within the buffer.
   */
  private int nextLine() throws IOException {
    for (int i = start; ; i++) {
      if (i == filled) {
        if (start > 0) {
          System.arraycopy(buffer, start, buffer, 0, filled - start);
          i -= start;
          filled -= start;
          start = 0;
        }
        if (filled == buffer.length) {
          buffer = Arrays.copyOf(buffer, 2 * filled);
        }
        int count = stream.read(buffer, filled, buffer.length - filled);
        if (count < 0) {
          return -1;
        }
        filled += count;
      }
      if (buffer[i] == '\n') {
        return i;
      }
    }
  }

  private boolean startsWith(String text, int end) {
    if (end - start < text.length()) {
      return false;
    }
    for (int i = 0; i < text.length(); i++) {
      if (buffer[start + i] != text.charAt(i)) {
        return false;
      }
    }
    return true;
  }

  private synchronized void take(int first, int end) throws IOException {
    Instant now = Instant.now();
    long nowNs = now.getEpochSecond() * 1_000_000_000L + now.getNano();
    try (JsonParser json = JSON.createParser(buffer, start + first, end - start - first)) {
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
    if (count == ages.length && count < MAX_SAMPLES) {
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
