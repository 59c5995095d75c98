package io.tapline.control.rest;

import io.javalin.http.Context;
import io.tapline.control.query.QueryService;
import io.tapline.control.query.QueryState;
import io.tapline.control.query.WindowResult;
import jakarta.servlet.http.HttpServletResponse;
import java.io.IOException;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executors;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.SynchronousQueue;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import redis.clients.jedis.exceptions.JedisException;

/**
 * Follows queries for clients, each on a thread of its own, so that a slow client delays no other;
 * what they are sent is read once for all who follow a query. A stream ends with its query, its
 * client, or this. Thread-safe.
 */
final class EventStreams implements AutoCloseable {
  /** ID of the event that ends a stream: a client that comes back with it has seen everything. */
  static final String END = "end";

  private static final Logger LOG = LoggerFactory.getLogger(EventStreams.class);

  /**
   * Windows end a second apart or more: this delay is not seen by people, and costs two small reads
   * a query.
   */
  private static final long POLL_MS = 200;

  private static final int READERS = 4;

  /** Keeps proxies from closing, and shows whether the client is still there. */
  private static final long KEEP_ALIVE_MS = 15_000;

  /** A stream writes what others made: it needs little. */
  private static final long STACK_BYTES = 256 << 10;

  private final QueryService queries;
  private final StreamSlots slots;
  private final Map<String, Followed> followed = new HashMap<>();
  private final ScheduledExecutorService readers =
      Executors.newScheduledThreadPool(READERS, task -> thread(task, "events-reader"));
  private final ThreadPoolExecutor threads;
  private volatile boolean closed;

  /**
   * Streams of these queries.
   *
   * @param most that are open at a time
   */
  EventStreams(QueryService queries, int most) {
    this.queries = queries;
    slots = new StreamSlots(most);
    threads =
        new ThreadPoolExecutor(
            0,
            most,
            10,
            TimeUnit.SECONDS,
            new SynchronousQueue<>(),
            task -> thread(task, "events"));
  }

  private static Thread thread(Runnable task, String name) {
    Thread thread = new Thread(null, task, name, STACK_BYTES);
    thread.setDaemon(true);
    return thread;
  }

  /** A query's feed while somebody follows it. */
  private static final class Followed {
    private final QueryFeed feed;
    private final ScheduledFuture<?> reading;
    private int followers;

    Followed(QueryFeed feed, ScheduledFuture<?> reading) {
      this.feed = feed;
      this.reading = reading;
    }
  }

  /** Streams open at the moment. */
  int open() {
    return slots.open();
  }

  /**
   * Answers a request with a query's events.
   *
   * @param after entry of the last window that the client has; empty for none
   */
  void follow(Context ctx, String query, String after) {
    String tenant = Access.rights(ctx).tenant();
    String refusal = slots.take(tenant, Access.quota(ctx).eventStreams());
    if (!refusal.isEmpty()) {
      throw Problems.tooMany("event-streams", refusal).asException();
    }
    ctx.status(200).contentType(Events.MEDIA_TYPE).header("X-Accel-Buffering", "no");
    ctx.future(() -> started(ctx, tenant, query, after));
  }

  private CompletableFuture<Void> started(Context ctx, String tenant, String query, String after) {
    CompletableFuture<Void> end = new CompletableFuture<>();
    Runnable stream =
        () -> {
          try {
            run(ctx.res(), query, after);
          } catch (IOException e) {
            LOG.debug("client of events of {} is gone: {}", query, e.getMessage());
          } catch (JedisException e) {
            LOG.warn("events of {} end: Redis: {}", query, e.getMessage());
          } catch (RuntimeException e) {
            LOG.error("events of {} end", query, e);
          } finally {
            slots.free(tenant);
            end.complete(null);
          }
        };
    try {
      threads.execute(stream);
    } catch (RejectedExecutionException closing) {
      slots.free(tenant);
      end.complete(null);
    }
    return end;
  }

  private void run(HttpServletResponse out, String id, String after) throws IOException {
    // The head of the answer, so that the client knows that it is connected.
    write(out, Events.comment("connected"));
    QueryFeed feed = join(id);
    try {
      tell(out, feed, id, after);
    } finally {
      leave(id);
    }
  }

  private void tell(HttpServletResponse out, QueryFeed feed, String id, String after)
      throws IOException {
    String last = after;
    QueryState told = null;
    QueryFeed.Moment now = feed.moment();
    while (now.query().isPresent() && !closed) {
      QueryState state = now.query().get().state();
      if (state != told && !state.ended()) {
        write(out, Events.state(now.query().get(), ""));
        told = state;
      }
      last = windows(out, now, id, last);
      if (now.lost()) {
        return;
      }
      if (state.ended() && !closed) {
        write(out, Events.state(now.query().get(), END));
        return;
      }
      QueryFeed.Moment seen = now;
      now = feed.next(seen, KEEP_ALIVE_MS);
      if (now == seen) {
        write(out, Events.comment("still here"));
      }
    }
  }

  /**
   * Sends the windows after one: what the feed no longer has from Redis, the rest from the feed.
   */
  private String windows(HttpServletResponse out, QueryFeed.Moment now, String id, String after)
      throws IOException {
    String last = after;
    while (Entry.isBefore(last, now.after()) && !closed) {
      List<WindowResult> page = queries.results().windowsAfter(id, last);
      if (page.isEmpty()) {
        break;
      }
      for (WindowResult window : page) {
        write(out, Events.window(window));
        last = window.entry();
      }
    }
    for (QueryFeed.Event window : after(now.windows(), last)) {
      if (!closed) {
        write(out, window.bytes());
        last = window.entry();
      }
    }
    return last;
  }

  /** Looks from the end: a client has all but the latest. */
  private static List<QueryFeed.Event> after(List<QueryFeed.Event> windows, String entry) {
    int first = windows.size();
    while (first > 0 && Entry.isBefore(entry, windows.get(first - 1).entry())) {
      first--;
    }
    return windows.subList(first, windows.size());
  }

  /** Waits for a slow client as long as the server's idle timeout, then fails. */
  private static void write(HttpServletResponse out, byte[] event) throws IOException {
    out.getOutputStream().write(event);
    out.flushBuffer();
  }

  private QueryFeed join(String id) {
    synchronized (followed) {
      Followed one = followed.get(id);
      if (one != null) {
        one.followers++;
        return one.feed;
      }
    }
    // Read outside the lock: many may begin at a time. Of two feeds of a query one is forgotten.
    QueryFeed feed = new QueryFeed(queries, id);
    synchronized (followed) {
      Followed one = followed.computeIfAbsent(id, any -> new Followed(feed, scheduled(feed)));
      one.followers++;
      return one.feed;
    }
  }

  private ScheduledFuture<?> scheduled(QueryFeed feed) {
    return readers.scheduleWithFixedDelay(feed, POLL_MS, POLL_MS, TimeUnit.MILLISECONDS);
  }

  private void leave(String id) {
    synchronized (followed) {
      Followed one = followed.get(id);
      if (--one.followers == 0) {
        one.reading.cancel(false);
        followed.remove(id);
      }
    }
  }

  /** Ends all streams, each between two events. */
  @Override
  public void close() {
    closed = true;
    readers.shutdown();
    threads.shutdown();
    synchronized (followed) {
      followed.values().forEach(one -> one.feed.wake());
    }
  }
}
