package io.tapline.control.query.events;

import io.tapline.control.registry.LeaseListener;
import io.tapline.schema.rpc.EventBatch;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.function.LongConsumer;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import redis.clients.jedis.exceptions.JedisAccessControlException;
import redis.clients.jedis.exceptions.JedisException;

/**
 * The events of all running queries: each is logged in Redis, then sent to clients, then
 * acknowledged to its agent. A control plane that takes over therefore knows which events clients
 * have seen, and receives the unlogged ones from the agents. Thread-safe; one thread writes.
 *
 * <p>Agents send at most a window of events ahead of their acknowledgements, which bounds the queue
 * here.
 */
public final class EventHub implements LeaseListener, AutoCloseable {
  private static final Logger LOG = LoggerFactory.getLogger(EventHub.class);
  private static final long RETRY_MS = 500;
  private static final long DRAIN_SECONDS = 5;
  private static final int MAX_BATCH = 1024;

  private final EventStore store;
  private final Map<String, EventLog> logs = new ConcurrentHashMap<>();
  private final BlockingQueue<Work> inbox = new LinkedBlockingQueue<>();
  private final Acknowledgements acknowledgements = new Acknowledgements();
  private boolean refused;
  private final Thread writer = new Thread(this::write, "events-writer");

  /**
   * A batch that waits for the writer, or a mark that is reached once all earlier batches are
   * logged.
   *
   * @param agent empty for a mark
   * @param batch null for a mark
   * @param taken called once the batch is logged, with the number of the next event; for a mark,
   *     with 0
   */
  private record Work(String agent, EventBatch batch, LongConsumer taken) {}

  /** Starts the writer. */
  public EventHub(EventStore store) {
    this.store = store;
    writer.setDaemon(true);
    writer.start();
  }

  /**
   * Starts logging the events of a query.
   *
   * @param resumed true if an earlier control plane may have logged some
   */
  public void open(String query, boolean resumed) {
    logs.putIfAbsent(query, new EventLog(query, resumed));
  }

  /** Waits until all events that have arrived are logged, for at most five seconds. */
  public void drain() throws InterruptedException {
    CountDownLatch done = new CountDownLatch(1);
    inbox.add(new Work("", null, next -> done.countDown()));
    if (!done.await(DRAIN_SECONDS, TimeUnit.SECONDS)) {
      LOG.warn("events are still waiting for Redis");
    }
  }

  /** Discards further events of a query, which has ended. */
  public void close(String query) {
    logs.remove(query);
  }

  /** Returns the feed of a running query's events; empty if the query is not running. */
  public Optional<EventFeed> of(String query) {
    return Optional.ofNullable(logs.get(query)).map(EventLog::feed);
  }

  /** Returns the logged events of all queries that are kept in Redis. */
  public EventStore store() {
    return store;
  }

  @Override
  public boolean events(String agent, EventBatch batch, LongConsumer taken) {
    inbox.add(new Work(agent, batch, taken));
    return true;
  }

  private void write() {
    List<Work> work = new ArrayList<>();
    try {
      rehearse();
      while (true) {
        Work next = inbox.poll(acknowledgements.dueInNs(System.nanoTime()), TimeUnit.NANOSECONDS);
        if (next != null) {
          work.add(next);
          inbox.drainTo(work, MAX_BATCH);
          attempt(work);
          work.clear();
        }
        acknowledgements.sendDue(System.nanoTime());
      }
    } catch (InterruptedException e) {
      LOG.debug("the event log is closed");
    }
  }

  /** Writes rehearsal events until real ones arrive or Redis fails; see {@link EventRehearsal}. */
  private void rehearse() throws InterruptedException {
    EventLog log = new EventLog(EventRehearsal.QUERY, false);
    Runnable client = () -> log.feed().after(log.feed().last() - 1);
    log.feed().listen(client);
    logs.put(EventRehearsal.QUERY, log);
    try {
      for (int i = 0; i < EventRehearsal.BATCHES && inbox.isEmpty(); i++) {
        write(List.of(new Work("", EventRehearsal.batch(i), next -> {})), store::append);
        acknowledgements.sendDue(System.nanoTime());
      }
    } catch (JedisException e) {
      LOG.debug("can't prepare for events: Redis: {}", e.getMessage());
    } finally {
      acknowledgements.send();
      logs.remove(EventRehearsal.QUERY);
    }
  }

  /** Writes entries to the log. */
  private interface Appender {
    void append(List<EventStore.Write> writes) throws InterruptedException;
  }

  private void attempt(List<Work> work) throws InterruptedException {
    try {
      write(work, this::append);
    } catch (RuntimeException e) {
      // The events are not acknowledged: agents keep them for the next control plane.
      LOG.error("can't log events", e);
    }
  }

  private void write(List<Work> work, Appender appender) throws InterruptedException {
    List<EventStore.Write> writes = new ArrayList<>();
    List<Runnable> marks = new ArrayList<>();
    List<Work> batches = new ArrayList<>();
    Map<EventLog, List<EventEntry>> news = new LinkedHashMap<>();
    for (Work item : work) {
      EventBatch batch = item.batch();
      if (batch == null) {
        marks.add(() -> item.taken().accept(0));
        continue;
      }
      EventLog log = logs.get(batch.getQuery());
      batches.add(item);
      if (log != null) {
        retried(() -> log.restore(store));
        log.take(batch)
            .ifPresent(
                write -> {
                  writes.add(write);
                  news.computeIfAbsent(log, ignored -> new ArrayList<>()).add(write.entry());
                });
      }
    }
    appender.append(writes);
    news.forEach((log, entries) -> log.feed().add(entries));
    batches.forEach(batch -> acknowledgements.add(batch.agent(), batch.batch(), batch.taken()));
    if (!marks.isEmpty()) {
      acknowledgements.send();
    }
    marks.forEach(Runnable::run);
  }

  private void append(List<EventStore.Write> writes) throws InterruptedException {
    if (writes.isEmpty()) {
      return;
    }
    List<EventStore.Write> left = new ArrayList<>(writes);
    boolean[] hasMore = {false};
    retried(
        () -> {
          if (hasMore[0]) {
            left.removeIf(store::has);
          }
          hasMore[0] = true;
          appendIfAllowed(left);
        });
  }

  /**
   * Appends entries. If Redis does not permit this user to log, clients still get the events, but
   * can't resume.
   */
  private void appendIfAllowed(List<EventStore.Write> writes) {
    try {
      store.append(writes);
    } catch (JedisAccessControlException e) {
      if (!refused) {
        LOG.error("can't log events, so clients can't resume: {}", e.getMessage());
      }
      refused = true;
    }
  }

  /** Retries the operation until Redis has executed it. */
  private static void retried(Runnable work) throws InterruptedException {
    for (boolean logged = false; ; logged = true) {
      try {
        work.run();
        return;
      } catch (JedisException e) {
        if (!logged) {
          LOG.warn("can't log events yet: Redis: {}", e.getMessage());
        }
        Thread.sleep(RETRY_MS);
      }
    }
  }

  @Override
  public void up(String agent, String multilog) {}

  @Override
  public void lost(String agent) {}

  @Override
  public void forgotten(String agent) {}

  /** Ends the writer; agents keep unacknowledged events. */
  @Override
  public void close() {
    writer.interrupt();
  }
}
