package io.tapline.control.rest;

import com.fasterxml.jackson.databind.node.ObjectNode;
import io.tapline.control.query.QueryInfo;
import io.tapline.control.query.WindowResult;
import jakarta.servlet.http.HttpServletResponse;
import java.io.IOException;
import java.nio.charset.StandardCharsets;

/**
 * Writes server-sent events (WHATWG HTML, section 9.2). A write waits for a slow client as long as
 * the server's idle timeout, then fails.
 */
final class EventWriter {
  static final String MEDIA_TYPE = "text/event-stream";

  private static final long KEEP_ALIVE_NS = 15_000_000_000L;

  private final HttpServletResponse response;
  private long writtenNs = System.nanoTime();

  EventWriter(HttpServletResponse response) {
    this.response = response;
  }

  /** Sends the head of the answer, so that the client knows that it is connected. */
  void open() throws IOException {
    comment("connected");
  }

  /** Tells a query's state; with an ID only if the client is to remember it. */
  void state(QueryInfo query, String id) throws IOException {
    ObjectNode data =
        Json.object()
            .put("query", query.id())
            .put("state", query.state().text())
            .put("error", query.error());
    event("state", id, data);
  }

  void window(WindowResult window) throws IOException {
    ObjectNode data =
        Json.object()
            .put("processor", window.processor())
            .put("name", window.name())
            .put("window_start_ns", window.windowStartNs())
            .put("window_end_ns", window.windowEndNs());
    data.set("rows", window.rows());
    data.set("completeness", window.completeness());
    event("window", window.entry(), data);
  }

  /**
   * A comment if nothing was written for a while: keeps proxies from closing, and shows whether the
   * client is still there.
   */
  void keepAlive() throws IOException {
    if (System.nanoTime() - writtenNs >= KEEP_ALIVE_NS) {
      comment("still here");
    }
  }

  private void event(String name, String id, ObjectNode data) throws IOException {
    // JSON escapes line ends, so that the data is one line.
    String idLine = id.isEmpty() ? "" : "id: " + id + "\n";
    write("event: " + name + "\n" + idLine + "data: " + data + "\n\n");
  }

  private void comment(String text) throws IOException {
    write(": " + text + "\n\n");
  }

  private void write(String text) throws IOException {
    response.getOutputStream().write(text.getBytes(StandardCharsets.UTF_8));
    response.flushBuffer();
    writtenNs = System.nanoTime();
  }
}
