package io.tapline.control.rest.events;

import com.fasterxml.jackson.databind.node.ObjectNode;
import io.tapline.control.query.QueryInfo;
import io.tapline.control.query.WindowResult;
import io.tapline.control.rest.http.Json;
import java.nio.charset.StandardCharsets;

/** Server-sent events (WHATWG HTML, section 9.2) as bytes. */
public final class Events {
  public static final String MEDIA_TYPE = "text/event-stream";

  private Events() {}

  /** Returns an event with a query's state; it has an ID only if the client is to remember it. */
  static byte[] state(QueryInfo query, String id) {
    ObjectNode data =
        Json.object()
            .put("query", query.id())
            .put("state", query.state().text())
            .put("error", query.error());
    return event("state", id, data);
  }

  static byte[] window(WindowResult window) {
    ObjectNode data =
        Json.object()
            .put("processor", window.processor())
            .put("name", window.name())
            .put("window_start_ns", window.windowStartNs())
            .put("window_end_ns", window.windowEndNs());
    data.set("rows", window.rows());
    data.set("completeness", window.completeness());
    return event("window", window.entry(), data);
  }

  /** Returns a comment, which clients ignore. */
  static byte[] comment(String text) {
    return bytes(": " + text + "\n\n");
  }

  private static byte[] event(String name, String id, ObjectNode data) {
    // JSON escapes line breaks, so the data is one line.
    String idLine = id.isEmpty() ? "" : "id: " + id + "\n";
    return bytes("event: " + name + "\n" + idLine + "data: " + data + "\n\n");
  }

  private static byte[] bytes(String text) {
    return text.getBytes(StandardCharsets.UTF_8);
  }
}
