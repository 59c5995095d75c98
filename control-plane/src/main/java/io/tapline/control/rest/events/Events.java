package io.tapline.control.rest.events;

import com.fasterxml.jackson.databind.node.ObjectNode;
import io.tapline.control.query.QueryInfo;
import io.tapline.control.query.WindowResult;
import io.tapline.control.query.events.EventEntry;
import io.tapline.control.rest.http.Json;
import java.io.ByteArrayOutputStream;
import java.nio.charset.StandardCharsets;

/** Server-sent events (WHATWG HTML, section 9.2) as bytes. */
public final class Events {
  public static final String MEDIA_TYPE = "text/event-stream";

  private Events() {}

  /**
   * Returns an event with a query's state.
   *
   * @param id ID for the client to remember; empty for none
   */
  static byte[] state(QueryInfo query, String id) {
    ObjectNode data =
        Json.object()
            .put("query", query.id())
            .put("state", query.state().text())
            .put("error", query.error());
    byte[] event = event("state", data.toString());
    return id.isEmpty() ? event : joined(id(id), event);
  }

  /** Returns a window, to be sent after its {@link #id}. */
  static byte[] window(WindowResult window) {
    ObjectNode data =
        Json.object()
            .put("processor", window.processor())
            .put("name", window.name())
            .put("window_start_ns", window.windowStartNs())
            .put("window_end_ns", window.windowEndNs());
    data.set("rows", window.rows());
    data.set("completeness", window.completeness());
    return event("window", data.toString());
  }

  /** Returns an entry of the event log, to be sent after its {@link #id}. */
  static byte[] events(EventEntry entry) {
    return joined(bytes("event: events\ndata: "), entry.json(), bytes("\n\n"));
  }

  /** Returns the line that gives an ID to the event after it. */
  static byte[] id(String id) {
    return bytes("id: " + id + "\n");
  }

  /** Returns a comment, which clients ignore. */
  static byte[] comment(String text) {
    return bytes(": " + text + "\n\n");
  }

  private static byte[] event(String name, String json) {
    // JSON escapes line breaks, so the data is one line.
    return bytes("event: " + name + "\ndata: " + json + "\n\n");
  }

  private static byte[] joined(byte[]... parts) {
    ByteArrayOutputStream all = new ByteArrayOutputStream();
    for (byte[] part : parts) {
      all.writeBytes(part);
    }
    return all.toByteArray();
  }

  private static byte[] bytes(String text) {
    return text.getBytes(StandardCharsets.UTF_8);
  }
}
