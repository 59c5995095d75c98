package io.tapline.control.query;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.tapline.control.query.events.EventEntry;
import io.tapline.control.query.events.EventStore;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.ArrayDeque;
import java.util.List;
import java.util.function.Consumer;
import java.util.function.Predicate;
import java.util.function.ToLongFunction;
import java.util.stream.StreamSupport;

/**
 * Finds events of one kind by time in a query's event log. Reads each entry once to index it; a
 * search then reads a limited number of pages, regardless of the log's length. Thread-safe. Calls
 * may throw a {@link redis.clients.jedis.exceptions.JedisException} if Redis can't be reached.
 */
final class EventIndex {
  /** Maximum number of pages that a search reads; if more match, it skips the earliest. */
  static final int MAX_PAGES_READ = 64;

  /**
   * Maximum number of pages in the index; a log within the limits of {@link EventLog} has fewer.
   */
  private static final int MAX_PAGES = 2048;

  private static final ObjectMapper MAPPER = new ObjectMapper();

  /**
   * A kind of event, with functions that return an event's start and end.
   *
   * @param includes selects the events of this kind in the log
   */
  record Kind(
      Predicate<JsonNode> includes,
      ToLongFunction<JsonNode> beginNs,
      ToLongFunction<JsonNode> endNs) {}

  private final String query;
  private final EventStore store;
  private final Kind kind;
  private final ArrayDeque<Page> pages = new ArrayDeque<>();
  private long last;

  EventIndex(String query, EventStore store, Kind kind) {
    this.query = query;
    this.store = store;
    this.kind = kind;
  }

  /**
   * A range of successive log entries.
   *
   * @param beginNs start of the earliest event; {@code Long.MAX_VALUE} if there is none
   * @param endNs end of the latest event
   */
  private record Page(long first, long last, int entries, long beginNs, long endNs) {
    private static final int MAX_ENTRIES = EventStore.PAGE;

    static Page beginningAt(long number) {
      return new Page(number, number, 0, Long.MAX_VALUE, 0);
    }

    Page with(long number, List<JsonNode> events, Kind kind) {
      long begin = events.stream().mapToLong(kind.beginNs()).reduce(beginNs, Math::min);
      long end = events.stream().mapToLong(kind.endNs()).reduce(endNs, Math::max);
      return new Page(first, number, entries + 1, begin, end);
    }

    boolean isFull() {
      return entries == MAX_ENTRIES;
    }

    boolean overlaps(long fromNs, long toNs) {
      return beginNs <= toNs && endNs >= fromNs;
    }
  }

  /**
   * Passes the latest events that overlap a time span to the sink, in log order. May also pass
   * other events.
   *
   * @return the time from which the events are complete: those that ended earlier may be missing; 0
   *     if none are missing
   */
  synchronized long read(long fromNs, long toNs, Consumer<JsonNode> sink) {
    extend();
    List<Page> wanted = pages.stream().filter(page -> page.overlaps(fromNs, toNs)).toList();
    int skipped = Math.max(0, wanted.size() - MAX_PAGES_READ);
    long sinceNs =
        wanted.subList(0, skipped).stream().mapToLong(page -> page.endNs() + 1).max().orElse(0);
    for (Page page : wanted.subList(skipped, wanted.size())) {
      if (!read(page, sink)) {
        sinceNs = Math.max(sinceNs, page.endNs() + 1);
      }
    }
    return Math.max(sinceNs, indexedSinceNs());
  }

  /** Passes a page's events; returns false if Redis no longer has some of its entries. */
  private boolean read(Page page, Consumer<JsonNode> sink) {
    List<EventEntry> entries =
        store.after(query, page.first() - 1).stream()
            .filter(entry -> entry.number() <= page.last())
            .toList();
    entries.forEach(entry -> events(entry).forEach(sink));
    return entries.size() == page.entries();
  }

  /**
   * Returns the beginning of the earliest indexed event if earlier entries were dropped, else 0.
   */
  private long indexedSinceNs() {
    return pages.isEmpty() || pages.getFirst().first() == 1
        ? 0
        : pages.stream()
            .mapToLong(Page::beginNs)
            .filter(begin -> begin < Long.MAX_VALUE)
            .findFirst()
            .orElse(0);
  }

  /** Indexes the entries that were written since the last search. */
  private void extend() {
    for (List<EventEntry> found = store.after(query, last);
        !found.isEmpty();
        found = store.after(query, last)) {
      for (EventEntry entry : found) {
        add(entry);
      }
    }
  }

  private void add(EventEntry entry) {
    Page page = pages.isEmpty() || pages.getLast().isFull() ? null : pages.removeLast();
    Page begun = page == null ? Page.beginningAt(entry.number()) : page;
    pages.addLast(begun.with(entry.number(), events(entry), kind));
    last = entry.number();
    if (pages.size() > MAX_PAGES) {
      pages.removeFirst();
    }
  }

  private List<JsonNode> events(EventEntry entry) {
    try {
      return StreamSupport.stream(MAPPER.readTree(entry.json()).path("events").spliterator(), false)
          .filter(kind.includes())
          .toList();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }
}
