package io.tapline.control.rest.events;

import io.javalin.http.Context;
import io.tapline.control.query.QueryService;
import io.tapline.control.rest.http.Access;
import io.tapline.control.rest.http.Problems;
import io.tapline.control.rest.http.Revocation;
import java.io.IOException;
import java.util.HashMap;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
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
 * Follows queries for clients, each on a separate thread: a slow client does not delay the others.
 * Events are read once for all clients that follow a query. A stream ends when its query ends, its
 * client disconnects, its token becomes invalid, or this object is closed. Thread-safe.
 */
public final class EventStreams implements AutoCloseable {
  /**
   * ID of the event that ends a stream: a client that reconnects with it has received everything.
   */
  public static final String END = "end";

  private static final Logger LOG = LoggerFactory.getLogger(EventStreams.class);

  /**
   * Interval of reads from Redis. Windows end at least a second apart, so users don't notice this
   * delay. Each read costs two small requests per query.
   */
  private static final long POLL_MS = 200;

  private static final int CLOSE_SECONDS = 5;

  private static final int READERS = 4;

  /** Stack size. A stream's thread only writes prepared events, so a small stack is sufficient. */
  private static final long STACK_BYTES = 256 << 10;

  private final QueryService queries;
  private final Revocation revocation;
  private final StreamSlots slots;
  private final Set<EventStream> streams = ConcurrentHashMap.newKeySet();
  private final Map<String, FollowedFeed> followed = new HashMap<>();
  private final ScheduledExecutorService readers =
      Executors.newScheduledThreadPool(READERS, task -> thread(task, "events-reader"));
  private final ThreadPoolExecutor threads;

  /**
   * Creates the streams of these queries.
   *
   * @param revocation ends streams whose tokens are revoked
   * @param maxStreams maximum number of open streams
   */
  public EventStreams(QueryService queries, Revocation revocation, int maxStreams) {
    this.queries = queries;
    this.revocation = revocation;
    slots = new StreamSlots(maxStreams);
    threads =
        new ThreadPoolExecutor(
            0,
            maxStreams,
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

  /** A query's feed while at least one client follows it. */
  private static final class FollowedFeed {
    private final QueryFeed feed;
    private final ScheduledFuture<?> reading;
    private int followers;

    FollowedFeed(QueryFeed feed, ScheduledFuture<?> reading) {
      this.feed = feed;
      this.reading = reading;
    }
  }

  /** Returns the number of open streams. */
  public int open() {
    return slots.open();
  }

  /**
   * Responds to a request with a query's events.
   *
   * @param startPosition position up to which the client has received events
   */
  public void follow(Context ctx, String query, StreamPosition startPosition) {
    String tenant = Access.rights(ctx).tenant();
    String refusal = slots.take(tenant, Access.quota(ctx).eventStreams());
    if (!refusal.isEmpty()) {
      throw Problems.tooMany("event-streams", refusal).asException();
    }
    ctx.status(200).contentType(Events.MEDIA_TYPE).header("X-Accel-Buffering", "no");
    ctx.future(() -> started(new EventStream(queries, ctx, query, startPosition)));
  }

  private CompletableFuture<Void> started(EventStream stream) {
    CompletableFuture<Void> end = new CompletableFuture<>();
    streams.add(stream);
    try {
      threads.execute(
          () -> {
            try (Revocation.Answer watched = revocation.watch(stream.token(), () -> end(stream))) {
              run(stream);
            } finally {
              forget(stream, end);
            }
          });
    } catch (RejectedExecutionException closing) {
      forget(stream, end);
    }
    return end;
  }

  private void forget(EventStream stream, CompletableFuture<Void> end) {
    streams.remove(stream);
    slots.free(stream.token().rights().tenant());
    if (stream.hasRequest()) {
      end.complete(null);
    }
  }

  private void run(EventStream stream) {
    String query = stream.query();
    try {
      stream.begin();
      QueryFeed feed = join(query);
      try {
        stream.run(feed);
      } finally {
        leave(query);
      }
    } catch (IOException e) {
      LOG.debug("the client of the events of {} disconnected: {}", query, e.getMessage());
    } catch (JedisException e) {
      LOG.warn("ending the event stream of {}: Redis: {}", query, e.getMessage());
    } catch (RuntimeException e) {
      LOG.error("ending the event stream of {}", query, e);
    }
  }

  private void end(EventStream stream) {
    stream.end();
    synchronized (followed) {
      FollowedFeed one = followed.get(stream.query());
      if (one != null) {
        one.feed.wake();
      }
    }
  }

  private QueryFeed join(String id) {
    synchronized (followed) {
      FollowedFeed one = followed.get(id);
      if (one != null) {
        one.followers++;
        return one.feed;
      }
    }
    // The feed is created outside the lock, since many streams may begin at the same time. If a
    // query gets two feeds, one is dropped.
    QueryFeed feed = new QueryFeed(queries, id);
    synchronized (followed) {
      FollowedFeed one =
          followed.computeIfAbsent(id, ignored -> new FollowedFeed(feed, scheduled(feed)));
      one.followers++;
      if (one.feed != feed) {
        feed.close();
      }
      return one.feed;
    }
  }

  private ScheduledFuture<?> scheduled(QueryFeed feed) {
    return readers.scheduleWithFixedDelay(feed, POLL_MS, POLL_MS, TimeUnit.MILLISECONDS);
  }

  private void leave(String id) {
    synchronized (followed) {
      FollowedFeed one = followed.get(id);
      if (--one.followers == 0) {
        one.reading.cancel(false);
        one.feed.close();
        followed.remove(id);
      }
    }
  }

  /**
   * Ends all streams, each between two events, and waits a few seconds for them, since the server
   * gives running responses little time when it stops.
   */
  @Override
  public void close() {
    readers.shutdown();
    threads.shutdown();
    streams.forEach(EventStream::end);
    synchronized (followed) {
      followed.values().forEach(one -> one.feed.wake());
    }
    try {
      if (!threads.awaitTermination(CLOSE_SECONDS, TimeUnit.SECONDS)) {
        LOG.warn("{} event streams did not end: their clients do not read", streams.size());
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }
}
