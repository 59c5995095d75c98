package io.tapline.control.rest.events;

import io.tapline.control.query.QueryInfo;
import io.tapline.control.query.QueryService;
import io.tapline.control.query.WindowResult;
import io.tapline.control.query.events.EventEntry;
import io.tapline.control.query.events.EventFeed;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.List;
import java.util.Optional;
import java.util.function.BooleanSupplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import redis.clients.jedis.exceptions.JedisException;

/**
 * The state and windows of one query, read from Redis once for all clients that follow it. It keeps
 * only the latest windows, serialized; clients that are further behind read from Redis. Clients
 * that wait here are also notified of the query's events. Thread-safe.
 */
final class QueryFeed implements Runnable {
  private static final Logger LOG = LoggerFactory.getLogger(QueryFeed.class);
  private static final int KEPT_BYTES = 4 << 20;
  private static final int KEPT_WINDOWS = 256;

  private final QueryService queries;
  private final String id;
  private final Deque<Event> kept = new ArrayDeque<>();
  private long keptBytes;
  private String after = "";
  private final Runnable onEvents = this::hear;
  private final Optional<EventFeed> events;
  private long news;
  private Update moment = new Update(Optional.empty(), "", List.of(), false);

  /**
   * A serialized window.
   *
   * @param entry ID of the window's entry in the query's Redis stream
   */
  record Event(String entry, byte[] bytes) {}

  /**
   * A snapshot of the query.
   *
   * @param query empty once the query has been removed
   * @param after entry that precedes the windows; {@code ""} if they are all windows of the query
   * @param lost true if reading has failed: this feed delivers nothing more
   */
  record Update(Optional<QueryInfo> query, String after, List<Event> windows, boolean lost) {}

  /** Creates a feed that starts after the query's current last window. */
  QueryFeed(QueryService queries, String id) {
    this.queries = queries;
    this.id = id;
    events = queries.events().of(id);
    events.ifPresent(feed -> feed.listen(onEvents));
    read(() -> after = queries.results().lastWindow(id));
    run();
  }

  synchronized Update moment() {
    return moment;
  }

  /** Stops listening to events, because no client follows the query any longer. */
  void close() {
    events.ifPresent(feed -> feed.forget(onEvents));
  }

  private synchronized void hear() {
    news++;
    notifyAll();
  }

  /** Returns the number of event notifications so far. */
  synchronized long news() {
    return news;
  }

  /**
   * Returns the events after a number that are still in memory; none if the query had ended before
   * this feed was created.
   */
  List<EventEntry> eventsAfter(long number) {
    return events.map(feed -> feed.after(number)).orElse(List.of());
  }

  /**
   * Waits until the snapshot differs from this one, there are more events, the time has elapsed, or
   * another thread has set {@code ended} and called {@link #wake}.
   *
   * @param seenNews result of {@link #news} before the client looked for events
   * @param ended read under this feed's lock, to avoid missing a call of {@link #wake}
   */
  synchronized Update next(Update seen, long seenNews, long ms, BooleanSupplier ended) {
    if (moment == seen && news == seenNews && !ended.getAsBoolean()) {
      try {
        wait(ms);
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
      }
    }
    return moment;
  }

  /** Wakes all waiting threads, which then check whether they have ended. */
  synchronized void wake() {
    notifyAll();
  }

  /** Reads new states and windows. Called by one thread at a time. */
  @Override
  public void run() {
    read(
        () -> {
          // The state is read before the windows: if the query has ended, all of its windows are
          // found.
          Optional<QueryInfo> query = queries.find(id);
          boolean hasMore = query.isPresent() && readWindows();
          if (hasMore || !query.equals(moment().query())) {
            publish(new Update(query, after, List.copyOf(kept), false));
          }
        });
  }

  private void read(Runnable reading) {
    Update previousUpdate = moment();
    if (previousUpdate.lost()) {
      return;
    }
    try {
      reading.run();
    } catch (JedisException e) {
      LOG.warn("ending the event stream of {}: Redis: {}", id, e.getMessage());
      publish(
          new Update(
              previousUpdate.query(), previousUpdate.after(), previousUpdate.windows(), true));
    } catch (RuntimeException e) {
      LOG.error("ending the event stream of {}", id, e);
      publish(
          new Update(
              previousUpdate.query(), previousUpdate.after(), previousUpdate.windows(), true));
    }
  }

  /** Reads new windows; returns true if there were any. */
  private boolean readWindows() {
    boolean hasMore = false;
    for (List<WindowResult> page = queries.results().windowsAfter(id, last());
        !page.isEmpty();
        page = queries.results().windowsAfter(id, last())) {
      hasMore = true;
      page.forEach(window -> keep(new Event(window.entry(), Events.window(window))));
    }
    return hasMore;
  }

  private String last() {
    return kept.isEmpty() ? after : kept.getLast().entry();
  }

  private void keep(Event window) {
    kept.add(window);
    keptBytes += window.bytes().length;
    while (kept.size() > KEPT_WINDOWS || kept.size() > 1 && keptBytes > KEPT_BYTES) {
      Event evicted = kept.remove();
      keptBytes -= evicted.bytes().length;
      after = evicted.entry();
    }
  }

  private synchronized void publish(Update now) {
    moment = now;
    notifyAll();
  }
}
