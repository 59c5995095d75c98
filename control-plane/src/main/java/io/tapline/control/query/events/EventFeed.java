package io.tapline.control.query.events;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Deque;
import java.util.List;

/**
 * The latest entries of one running query's log, for clients that follow it. Clients read earlier
 * entries from {@link EventStore}. Thread-safe.
 */
public final class EventFeed {
  private static final int KEPT_ENTRIES = 4096;
  private static final long KEPT_BYTES = 4 << 20;

  private final Deque<EventEntry> kept = new ArrayDeque<>();
  private final List<Runnable> listeners = new ArrayList<>();
  private long keptBytes;
  private long last;

  EventFeed() {}

  /** Adds entries that follow the last one, and notifies listeners. */
  void add(List<EventEntry> entries) {
    List<Runnable> notified;
    synchronized (this) {
      for (EventEntry entry : entries) {
        kept.add(entry);
        keptBytes += entry.json().length;
        last = entry.number();
      }
      while (kept.size() > KEPT_ENTRIES || kept.size() > 1 && keptBytes > KEPT_BYTES) {
        keptBytes -= kept.remove().json().length;
      }
      notified = List.copyOf(listeners);
    }
    notified.forEach(Runnable::run);
  }

  /** Returns the number of the last entry; 0 if there is none yet. */
  public synchronized long last() {
    return last;
  }

  /**
   * Returns the kept entries after a number. If the first of them does not have the next number,
   * the missing ones are only in the store.
   */
  public synchronized List<EventEntry> after(long number) {
    if (number >= last) {
      return List.of();
    }
    List<EventEntry> entries = new ArrayList<>();
    // Iterates backwards: a client usually lacks only the latest entries.
    for (var all = kept.descendingIterator(); all.hasNext(); ) {
      EventEntry entry = all.next();
      if (entry.number() <= number) {
        break;
      }
      entries.add(entry);
    }
    Collections.reverse(entries);
    return entries;
  }

  /** Calls the listener whenever entries have been added; it must not block. */
  public synchronized void listen(Runnable listener) {
    listeners.add(listener);
  }

  public synchronized void forget(Runnable listener) {
    listeners.remove(listener);
  }
}
