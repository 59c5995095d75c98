package io.tapline.control.rest.events;

import io.tapline.control.rest.http.Entry;
import io.tapline.control.rest.http.Problem;

/**
 * A client's position in a query's stream, as the ID of a server-sent event: {@code
 * 1763700000000-0} after a window, and {@code 1763700000000-0,17} or {@code ,17} once it has
 * received events.
 *
 * @param window entry of the last window; empty for none
 * @param events number of the last entry of events; 0 for none
 */
public record StreamPosition(String window, long events) {
  private static final String HEADER = "Last-Event-ID";

  /**
   * Parses the ID that a client sends.
   *
   * @param id null or empty for the beginning
   */
  public static StreamPosition parse(String id) {
    int comma = id == null ? -1 : id.indexOf(',');
    if (comma < 0) {
      return new StreamPosition(Entry.parse(HEADER, id), 0);
    }
    String number = id.substring(comma + 1);
    if (!number.matches("\\d{1,18}")) {
      throw Problem.badRequest(
              HEADER + "=" + id + ": it must be an ID of this stream, like 1763700000000-0,17")
          .asException();
    }
    return new StreamPosition(Entry.parse(HEADER, id.substring(0, comma)), Long.parseLong(number));
  }

  StreamPosition withWindow(String entry) {
    return new StreamPosition(entry, events);
  }

  StreamPosition withEvents(long number) {
    return new StreamPosition(window, number);
  }

  @Override
  public String toString() {
    return events == 0 ? window : window + "," + events;
  }
}
