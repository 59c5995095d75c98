package io.tapline.control.rest.events;

import io.javalin.http.Context;
import io.tapline.control.access.Token;
import io.tapline.control.query.QueryService;
import io.tapline.control.query.QueryState;
import io.tapline.control.query.WindowResult;
import io.tapline.control.rest.http.Access;
import io.tapline.control.rest.http.Entry;
import io.tapline.control.rest.http.Revocation;
import jakarta.servlet.http.HttpServletResponse;
import java.io.IOException;
import java.util.List;

/**
 * One client's stream of one query's events. A single thread calls {@link #run}; other threads may
 * end it at any time.
 */
final class EventStream {
  /** Keeps proxies from closing the connection, and detects disconnected clients. */
  private static final long KEEP_ALIVE_MS = 15_000;

  private final QueryService queries;
  private final String query;
  private final String after;
  private final Token token;
  private final HttpServletResponse out;
  private final Context ctx;
  private volatile boolean ended;

  /**
   * A stream that answers a request.
   *
   * @param after entry of the last window that the client has; empty for none
   */
  EventStream(QueryService queries, Context ctx, String query, String after) {
    this.queries = queries;
    this.query = query;
    this.after = after;
    this.token = Access.known(ctx);
    this.out = ctx.res();
    this.ctx = ctx;
  }

  /** Returns the query that it follows. */
  String query() {
    return query;
  }

  /** Returns the token that its client presented. */
  Token token() {
    return token;
  }

  /**
   * Ends the stream before its next event. A second call cuts the connection, which ends the wait
   * for a client that does not read.
   */
  void end() {
    if (ended) {
      Revocation.disconnect(ctx);
    }
    ended = true;
  }

  /**
   * Returns false if the server has abandoned the request, for example because it stopped before
   * this stream ended. Completing such a request fails, and Javalin would retry without end.
   */
  boolean hasRequest() {
    try {
      return ctx.req().getRequestURI() != null;
    } catch (NullPointerException | IllegalStateException recycled) {
      return false;
    }
  }

  /** Sends the head of the response, so that the client knows that it is connected. */
  void begin() throws IOException {
    write(Events.comment("connected"));
  }

  /** Sends events until the query or this stream ends. */
  void run(QueryFeed feed) throws IOException {
    String last = after;
    QueryState sent = null;
    QueryFeed.Moment now = feed.moment();
    while (now.query().isPresent() && !ended) {
      QueryState state = now.query().get().state();
      if (state != sent && !state.ended()) {
        write(Events.state(now.query().get(), ""));
        sent = state;
      }
      last = windows(now, last);
      if (now.lost()) {
        return;
      }
      if (state.ended() && !ended) {
        write(Events.state(now.query().get(), EventStreams.END));
        return;
      }
      QueryFeed.Moment seen = now;
      now = feed.next(seen, KEEP_ALIVE_MS, () -> ended);
      if (now == seen && !ended) {
        write(Events.comment("still here"));
      }
    }
  }

  /**
   * Sends the windows after an entry: from Redis those that the feed no longer has, the rest from
   * the feed.
   */
  private String windows(QueryFeed.Moment now, String from) throws IOException {
    String last = from;
    while (Entry.isBefore(last, now.after()) && !ended) {
      List<WindowResult> page = queries.results().windowsAfter(query, last);
      if (page.isEmpty()) {
        break;
      }
      for (WindowResult window : page) {
        if (!ended) {
          write(Events.window(window));
          last = window.entry();
        }
      }
    }
    for (QueryFeed.Event window : after(now.windows(), last)) {
      if (!ended) {
        write(window.bytes());
        last = window.entry();
      }
    }
    return last;
  }

  /** Searches from the end, since a client usually lacks only the latest. */
  private static List<QueryFeed.Event> after(List<QueryFeed.Event> windows, String entry) {
    int first = windows.size();
    while (first > 0 && Entry.isBefore(entry, windows.get(first - 1).entry())) {
      first--;
    }
    return windows.subList(first, windows.size());
  }

  /** Waits for a slow client as long as the server's idle timeout, then fails. */
  private void write(byte[] event) throws IOException {
    out.getOutputStream().write(event);
    out.flushBuffer();
  }
}
