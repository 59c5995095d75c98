package io.tapline.control.cli.client;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.Optional;

/**
 * Reads server-sent events (WHATWG HTML, section 9.2.6); supports the fields that our server uses.
 */
final class EventReader implements AutoCloseable {
  private final BufferedReader lines;

  EventReader(InputStream stream) {
    this.lines = new BufferedReader(new InputStreamReader(stream, StandardCharsets.UTF_8));
  }

  /**
   * One event.
   *
   * @param id empty if it has none
   */
  record Event(String name, String id, String data) {}

  /** Returns the next event; empty at the end of the stream. */
  Optional<Event> next() throws IOException {
    String name = "message";
    String id = "";
    StringBuilder data = new StringBuilder();
    for (String line = lines.readLine(); line != null; line = lines.readLine()) {
      if (line.isEmpty() && data.length() > 0) {
        return Optional.of(new Event(name, id, data.toString()));
      }
      int colon = line.indexOf(':');
      String value = colon < 0 ? "" : line.substring(colon + 1).stripLeading();
      switch (colon < 0 ? line : line.substring(0, colon)) {
        case "event" -> name = value;
        case "id" -> id = value;
        case "data" -> data.append(data.length() > 0 ? "\n" : "").append(value);
        default -> {}
      }
    }
    return Optional.empty();
  }

  @Override
  public void close() throws IOException {
    lines.close();
  }
}
