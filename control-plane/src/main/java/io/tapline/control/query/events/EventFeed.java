package io.tapline.control.query.events;

import io.tapline.schema.rpc.Event;
import io.tapline.schema.rpc.EventBatch;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Deque;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * The events of one query from all of its monitors, each once: the latest are kept for clients.
 *
 * <p>A monitor numbers its events without gaps ({@code schema/event.proto}), so repeated ones are
 * recognized and missing ones are counted: {@code sent = received + missing}. Thread-safe.
 */
public final class EventFeed {
  private static final int KEPT_EVENTS = 65_536;
  private static final long KEPT_BYTES = 32L << 20;

  /** Monitors of one query, over all their lives; the number of hosts is far below it. */
  private static final int MOST_MONITORS = 65_536;

  private final Map<String, Origin> origins = new HashMap<>();
  private final Deque<Kept> kept = new ArrayDeque<>();
  private final List<Runnable> listeners = new ArrayList<>();
  private long keptBytes;
  private long last;
  private long missing;

  /**
   * An event.
   *
   * @param position its place among all events of the query here, from 1
   * @param monitor the plan's name for the monitor
   * @param number its number at this monitor
   */
  public record Kept(long position, String monitor, long incarnation, long number, Event event) {}

  /**
   * What has arrived so far.
   *
   * @param received events
   * @param missing events that found no room on their way, as far as their numbers show it
   */
  public record Counts(long received, long missing) {}

  /** The state of one monitor's numbers. */
  private static final class Origin {
    private long incarnation;
    private long next;
  }

  /**
   * Takes a batch.
   *
   * @return number of the monitor's first event that is not here
   */
  public long take(EventBatch batch) {
    List<Runnable> told;
    long next;
    synchronized (this) {
      long before = last;
      next = add(batch);
      told = last == before ? List.of() : List.copyOf(listeners);
    }
    told.forEach(Runnable::run);
    return next;
  }

  private long add(EventBatch batch) {
    Origin origin = origins.get(batch.getMonitor());
    if (origin == null && origins.size() < MOST_MONITORS) {
      origin = new Origin();
      origins.put(batch.getMonitor(), origin);
    }
    long end = batch.getFirst() + batch.getEventsCount();
    if (origin == null || Long.compareUnsigned(batch.getIncarnation(), origin.incarnation) < 0) {
      // Of a life of the monitor that is over and whose last events have been counted.
      return end;
    }
    if (origin.incarnation != batch.getIncarnation()) {
      origin.incarnation = batch.getIncarnation();
      origin.next = 0;
    }
    if (end <= origin.next) {
      return origin.next;
    }
    missing += Math.max(0, batch.getFirst() - origin.next);
    long skipped = Math.max(0, origin.next - batch.getFirst());
    for (int i = (int) skipped; i < batch.getEventsCount(); i++) {
      keep(batch, batch.getFirst() + i, batch.getEvents(i));
    }
    origin.next = end;
    return end;
  }

  private void keep(EventBatch batch, long number, Event event) {
    last++;
    kept.add(new Kept(last, batch.getMonitor(), batch.getIncarnation(), number, event));
    keptBytes += event.getSerializedSize();
    while (kept.size() > KEPT_EVENTS || kept.size() > 1 && keptBytes > KEPT_BYTES) {
      keptBytes -= kept.remove().event().getSerializedSize();
    }
  }

  /** Returns the position of the latest event; 0 if there is none. */
  public synchronized long last() {
    return last;
  }

  /**
   * Returns events after a position, the oldest first. If the first has not the next position, the
   * client was too slow: those between are no longer kept.
   */
  public synchronized List<Kept> after(long position, int most) {
    if (position >= last) {
      return List.of();
    }
    List<Kept> events = new ArrayList<>();
    // A client usually lacks only the latest.
    for (var all = kept.descendingIterator(); all.hasNext(); ) {
      Kept each = all.next();
      if (each.position() <= position) {
        break;
      }
      events.add(each);
    }
    Collections.reverse(events);
    return events.size() > most ? List.copyOf(events.subList(0, most)) : events;
  }

  public synchronized Counts counts() {
    return new Counts(last, missing);
  }

  /** Calls the listener after each batch with new events; it must not block. */
  public synchronized void listen(Runnable listener) {
    listeners.add(listener);
  }

  public synchronized void forget(Runnable listener) {
    listeners.remove(listener);
  }
}
