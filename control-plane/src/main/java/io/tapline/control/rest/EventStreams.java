package io.tapline.control.rest;

import io.javalin.http.Context;
import io.tapline.control.query.QueryInfo;
import io.tapline.control.query.QueryService;
import io.tapline.control.query.QueryState;
import io.tapline.control.query.WindowResult;
import java.io.IOException;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.Semaphore;
import java.util.concurrent.SynchronousQueue;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import redis.clients.jedis.exceptions.JedisException;

/**
 * Follows queries for clients, each on a thread of its own, so that a slow client delays no other.
 * A stream ends with its query, its client, or this. Thread-safe.
 */
final class EventStreams implements AutoCloseable {
  static final int MOST = 32;

  /** ID of the event that ends a stream: a client that comes back with it has seen everything. */
  static final String END = "end";

  private static final Logger LOG = LoggerFactory.getLogger(EventStreams.class);

  /**
   * Windows end a second apart or more: this delay is not seen by people, and costs two small
   * reads.
   */
  private static final long POLL_MS = 200;

  private final QueryService queries;
  private final Semaphore free = new Semaphore(MOST);
  private final CountDownLatch closing = new CountDownLatch(1);
  private final ExecutorService threads =
      new ThreadPoolExecutor(
          0, MOST, 10, TimeUnit.SECONDS, new SynchronousQueue<>(), EventStreams::thread);

  EventStreams(QueryService queries) {
    this.queries = queries;
  }

  private static Thread thread(Runnable task) {
    Thread thread = new Thread(task, "events");
    thread.setDaemon(true);
    return thread;
  }

  /** Streams open at the moment. */
  int open() {
    return MOST - free.availablePermits();
  }

  /**
   * Answers a request with a query's events.
   *
   * @param after entry of the last window that the client has; empty for none
   */
  void follow(Context ctx, String query, String after) {
    if (!free.tryAcquire()) {
      String detail =
          MOST
              + " event streams are open, which is as many as this server serves: close one or ask again";
      throw Problems.tooMany("event-streams", detail).asException();
    }
    ctx.status(200).contentType(EventWriter.MEDIA_TYPE).header("X-Accel-Buffering", "no");
    ctx.future(() -> started(ctx, query, after));
  }

  private CompletableFuture<Void> started(Context ctx, String query, String after) {
    CompletableFuture<Void> end = new CompletableFuture<>();
    Runnable stream =
        () -> {
          try {
            run(new EventWriter(ctx.res()), query, after);
          } catch (IOException e) {
            LOG.debug("client of events of {} is gone: {}", query, e.getMessage());
          } catch (JedisException e) {
            LOG.warn("events of {} end: Redis: {}", query, e.getMessage());
          } catch (RuntimeException e) {
            LOG.error("events of {} end", query, e);
          } finally {
            free.release();
            end.complete(null);
          }
        };
    try {
      threads.execute(stream);
    } catch (RejectedExecutionException closed) {
      free.release();
      end.complete(null);
    }
    return end;
  }

  private void run(EventWriter out, String id, String after) throws IOException {
    out.open();
    String last = after;
    QueryState told = null;
    do {
      // The state is read before the windows: an ended query's are then all there, and its end is
      // told after them.
      Optional<QueryInfo> query = queries.find(id);
      if (query.isEmpty()) {
        return;
      }
      QueryState state = query.get().state();
      if (state != told && !state.ended()) {
        out.state(query.get(), "");
        told = state;
      }
      last = windows(out, id, last);
      if (state.ended() && !closed()) {
        out.state(query.get(), END);
        return;
      }
      out.keepAlive();
    } while (!awaitClose());
  }

  private String windows(EventWriter out, String id, String after) throws IOException {
    String last = after;
    List<WindowResult> page;
    do {
      page = queries.windowsAfter(id, last);
      for (WindowResult window : page) {
        out.window(window);
        last = window.entry();
      }
    } while (!page.isEmpty() && !closed());
    return last;
  }

  private boolean closed() {
    return closing.getCount() == 0;
  }

  private boolean awaitClose() {
    try {
      return closing.await(POLL_MS, TimeUnit.MILLISECONDS);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      return true;
    }
  }

  /** Ends all streams, each between two events. */
  @Override
  public void close() {
    closing.countDown();
    threads.shutdown();
  }
}
