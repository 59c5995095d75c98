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
import java.util.stream.StreamSupport;

/**
 * Finds bursts of queues in the log of a query's events by time. It reads each entry once to index
 * it; a search then reads a limited number of pages, regardless of the log's length. Thread-safe.
 * Calls may throw a {@link redis.clients.jedis.exceptions.JedisException} if Redis can't be
 * reached.
 */
final class BurstLog {
  static final String PARSER = "queue_burst";

  /** Maximum number of pages that a search reads; it leaves out the earlier ones. */
  static final int MAX_PAGES_READ = 64;

  /** Maximum number of pages in the index; a log that Redis limits has fewer. */
  private static final int MAX_PAGES = 2048;

  private static final ObjectMapper MAPPER = new ObjectMapper();

  private final String query;
  private final EventStore store;
  private final ArrayDeque<Page> pages = new ArrayDeque<>();
  private long last;

  BurstLog(String query, EventStore store) {
    this.query = query;
    this.store = store;
  }

  /**
   * Successive entries.
   *
   * @param beginNs begin of the earliest burst; the largest number if there is none
   * @param endNs end of the latest burst
   */
  private record Page(long first, long last, int entries, long beginNs, long endNs) {
    private static final int MAX_ENTRIES = EventStore.PAGE;

    static Page beginningAt(long number) {
      return new Page(number, number, 0, Long.MAX_VALUE, 0);
    }

    Page with(long number, List<JsonNode> bursts) {
      long begin = bursts.stream().mapToLong(BurstLog::beginNs).reduce(beginNs, Math::min);
      long end = bursts.stream().mapToLong(BurstLog::endNs).reduce(endNs, Math::max);
      return new Page(first, number, entries + 1, begin, end);
    }

    boolean isFull() {
      return entries == MAX_ENTRIES;
    }

    boolean overlaps(long fromNs, long toNs) {
      return beginNs <= toNs && endNs >= fromNs;
    }
  }

  private static long beginNs(JsonNode event) {
    return event.path("fields").path("begin_ns").asLong();
  }

  private static long endNs(JsonNode event) {
    return beginNs(event) + event.path("fields").path("duration_ns").asLong();
  }

  /**
   * Passes the latest bursts that overlap a span of time, in the order of the log. It may pass
   * others as well.
   *
   * @return the time from which the bursts are complete: those that ended earlier may be missing; 0
   *     if none is
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

  /** Returns false if Redis no longer has some entries of the page. */
  private boolean read(Page page, Consumer<JsonNode> sink) {
    List<EventEntry> entries =
        store.after(query, page.first() - 1).stream()
            .filter(entry -> entry.number() <= page.last())
            .toList();
    entries.forEach(entry -> bursts(entry).forEach(sink));
    return entries.size() == page.entries();
  }

  /** Returns the begin of the earliest indexed burst if earlier entries were dropped, else 0. */
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
    pages.addLast(begun.with(entry.number(), bursts(entry)));
    last = entry.number();
    if (pages.size() > MAX_PAGES) {
      pages.removeFirst();
    }
  }

  private static List<JsonNode> bursts(EventEntry entry) {
    try {
      return StreamSupport.stream(MAPPER.readTree(entry.json()).path("events").spliterator(), false)
          .filter(event -> event.path("parser").asText().equals(PARSER))
          .toList();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }
}
