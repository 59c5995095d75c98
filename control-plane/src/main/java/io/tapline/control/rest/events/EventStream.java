package io.tapline.control.rest.events;

import io.javalin.http.Context;
import io.tapline.control.access.Token;
import io.tapline.control.query.QueryService;
import io.tapline.control.query.QueryState;
import io.tapline.control.query.WindowResult;
import io.tapline.control.query.events.EventEntry;
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
  /**
   * Interval of keep-alive comments, which keep proxies from closing the connection and detect
   * disconnected clients.
   */
  private static final long KEEP_ALIVE_MS = 15_000;

  private final QueryService queries;
  private final String query;
  private final Token token;
  private final HttpServletResponse out;
  private final Context ctx;
  private StreamPosition at;

  /** True once the client has received the events that were in Redis when it connected. */
  private boolean caughtUp;

  private volatile boolean ended;

  /**
   * Creates a stream that answers a request.
   *
   * @param startPosition position up to which the client has received events
   */
  EventStream(QueryService queries, Context ctx, String query, StreamPosition startPosition) {
    this.queries = queries;
    this.query = query;
    this.at = startPosition;
    this.token = Access.known(ctx);
    this.out = ctx.res();
    this.ctx = ctx;
  }

  /** Returns the query that the stream follows. */
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
   * this stream ended. Completing such a request fails, and Javalin would retry indefinitely.
   */
  boolean hasRequest() {
    try {
      return ctx.req().getRequestURI() != null;
    } catch (NullPointerException | IllegalStateException recycled) {
      return false;
    }
  }

  /** Sends the response's headers and a comment, which show the client that it is connected. */
  void begin() throws IOException {
    write(Events.comment("connected"));
  }

  /** Sends events until the query or this stream ends. */
  void run(QueryFeed feed) throws IOException {
    QueryState sent = null;
    QueryFeed.Update now = feed.moment();
    long written = System.nanoTime();
    while (now.query().isPresent() && !ended) {
      StreamPosition previousPosition = at;
      QueryState state = now.query().get().state();
      boolean hasChanged = state != sent;
      if (hasChanged && !state.ended()) {
        write(Events.state(now.query().get(), ""));
        sent = state;
      }
      long seenNews = feed.news();
      events(feed, state);
      windows(now);
      if (now.lost()) {
        return;
      }
      if (state.ended() && !ended) {
        write(Events.state(now.query().get(), EventStreams.END));
        return;
      }
      if (hasChanged || !at.equals(previousPosition)) {
        written = System.nanoTime();
      }
      long quietMs = (System.nanoTime() - written) / 1_000_000;
      if (quietMs >= KEEP_ALIVE_MS) {
        write(Events.comment("still here"));
        written = System.nanoTime();
        quietMs = 0;
      }
      now = feed.next(now, seenNews, KEEP_ALIVE_MS - quietMs, () -> ended);
    }
  }

  /**
   * Sends the events after the client's position. Takes them from the feed, or from Redis if the
   * feed does not have them.
   */
  private void events(QueryFeed feed, QueryState state) throws IOException {
    List<EventEntry> latest = feed.eventsAfter(at.events());
    boolean isBehind = !latest.isEmpty() && latest.get(0).number() > at.events() + 1;
    if (isBehind || state.ended() || !caughtUp) {
      for (List<EventEntry> page = olderEvents(); !page.isEmpty() && !ended; page = olderEvents()) {
        send(page);
      }
      caughtUp = true;
      latest = feed.eventsAfter(at.events());
    }
    send(latest);
  }

  private List<EventEntry> olderEvents() {
    return queries.events().store().after(query, at.events());
  }

  private void send(List<EventEntry> entries) throws IOException {
    for (EventEntry entry : entries) {
      if (!ended) {
        at = at.withEvents(entry.number());
        out.getOutputStream().write(Events.id(at.toString()));
        out.getOutputStream().write(Events.events(entry));
      }
    }
    if (!entries.isEmpty()) {
      out.flushBuffer();
    }
  }

  /**
   * Sends the windows after the client's position. Takes them from the feed, or from Redis if the
   * feed no longer has them.
   */
  private void windows(QueryFeed.Update now) throws IOException {
    while (Entry.isBefore(at.window(), now.after()) && !ended) {
      List<WindowResult> page = queries.results().windowsAfter(query, at.window());
      if (page.isEmpty()) {
        break;
      }
      for (WindowResult window : page) {
        window(window.entry(), Events.window(window));
      }
    }
    for (QueryFeed.Event window : after(now.windows(), at.window())) {
      window(window.entry(), window.bytes());
    }
  }

  private void window(String entry, byte[] event) throws IOException {
    if (!ended) {
      at = at.withWindow(entry);
      out.getOutputStream().write(Events.id(at.toString()));
      write(event);
    }
  }

  /**
   * Returns the windows after an entry. Searches backwards, since a client usually lacks only the
   * latest.
   */
  private static List<QueryFeed.Event> after(List<QueryFeed.Event> windows, String entry) {
    int first = windows.size();
    while (first > 0 && Entry.isBefore(entry, windows.get(first - 1).entry())) {
      first--;
    }
    return windows.subList(first, windows.size());
  }

  /**
   * Writes and flushes an event. Waits for a slow client up to the server's idle timeout, then
   * fails.
   */
  private void write(byte[] event) throws IOException {
    out.getOutputStream().write(event);
    out.flushBuffer();
  }
}
