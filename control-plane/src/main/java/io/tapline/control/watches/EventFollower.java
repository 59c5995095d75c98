package io.tapline.control.watches;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.tapline.control.query.QueryService;
import io.tapline.control.query.events.EventEntry;
import io.tapline.control.query.events.EventFeed;
import java.io.IOException;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Reads a query's event log from its beginning, and new entries as they are logged. All work runs
 * on the executor's only thread.
 */
final class EventFollower implements AutoCloseable {
  /** Receives events, in order, on one thread at a time. */
  interface Receiver {
    /**
     * Receives an event of the query.
     *
     * @param id the event's ID, which stays the same when the server restarts
     * @param replayed true if an earlier server may have reported it
     */
    void take(JsonNode event, String id, String monitor, boolean replayed);
  }

  private static final Logger LOG = LoggerFactory.getLogger(EventFollower.class);
  private static final ObjectMapper MAPPER = new ObjectMapper();

  /** Pause between attempts while a log is not open yet or Redis can't be reached. */
  private static final long RETRY_MS = 200;

  private final QueryService queries;
  private final ScheduledExecutorService worker;
  private final String query;
  private final Receiver receiver;
  private final Runnable wake = () -> later(this::read, 0);
  private boolean started;
  private volatile EventFeed feed;
  private long position;
  private long replayed;
  private volatile boolean closed;

  EventFollower(
      QueryService queries, ScheduledExecutorService worker, String query, Receiver receiver) {
    this.queries = queries;
    this.worker = worker;
    this.query = query;
    this.receiver = receiver;
  }

  /** Starts reading, unless it has already started. Not thread-safe. */
  void start() {
    if (!started) {
      started = true;
      later(this::attach, 0);
    }
  }

  private void later(Runnable task, long delayMs) {
    try {
      worker.schedule(() -> attempt(task), delayMs, TimeUnit.MILLISECONDS);
    } catch (RejectedExecutionException e) {
      // The server is shutting down.
    }
  }

  private void attempt(Runnable task) {
    try {
      if (!closed) {
        task.run();
      }
    } catch (RuntimeException e) {
      LOG.warn("can't read the events of {} yet: {}", query, e.getMessage());
      later(task, RETRY_MS);
    }
  }

  /**
   * Attaches to the log once it exists. A query that is starting has no log yet; a query that has
   * ended no longer gets one.
   */
  private void attach() {
    Optional<EventFeed> open = queries.events().of(query);
    if (open.isEmpty()) {
      later(this::attach, RETRY_MS);
      return;
    }
    feed = open.get();
    List<EventEntry> logged = queries.events().store().after(query, 0);
    replayed = logged.isEmpty() ? 0 : Math.max(feed.last(), logged.get(logged.size() - 1).number());
    feed.listen(wake);
    read();
  }

  private void read() {
    for (List<EventEntry> page = next(); !page.isEmpty(); page = next()) {
      for (EventEntry entry : page) {
        take(entry);
        position = entry.number();
      }
    }
  }

  /** Returns the next entries, from the store if the feed no longer has them. */
  private List<EventEntry> next() {
    List<EventEntry> latest = feed.after(position);
    if (latest.isEmpty() || latest.get(0).number() == position + 1) {
      return latest;
    }
    List<EventEntry> storedEntries = queries.events().store().after(query, position);
    return storedEntries.isEmpty() ? latest : storedEntries;
  }

  private void take(EventEntry entry) {
    JsonNode batch;
    try {
      batch = MAPPER.readTree(entry.json());
    } catch (IOException e) {
      LOG.error("can't read an entry in the event log of {}", query, e);
      return;
    }
    String prefix = query + "-" + entry.number() + "-";
    int index = 0;
    for (JsonNode event : batch.path("events")) {
      receiver.take(
          event, prefix + index++, batch.path("monitor").asText(), entry.number() <= replayed);
    }
  }

  @Override
  public void close() {
    closed = true;
    EventFeed attached = feed;
    if (attached != null) {
      attached.forget(wake);
    }
  }
}
