package io.tapline.control.query.events;

import com.google.protobuf.InvalidProtocolBufferException;
import io.tapline.schema.rpc.EventBatch;
import io.tapline.schema.rpc.EventList;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** One running query's event log. Confined to the writer's thread, except for its feed. */
final class EventLog {
  private static final Logger LOG = LoggerFactory.getLogger(EventLog.class);

  /** Limits of a query's log in Redis. */
  private static final int KEPT_ENTRIES = 65_536;

  private static final long KEPT_BYTES = 16 << 20;

  private final String query;
  private final EventFeed feed = new EventFeed();
  private final EventNumbers numbers = new EventNumbers();
  private final Deque<Size> kept = new ArrayDeque<>();
  private long keptBytes;
  private boolean restored;

  private record Size(long number, int bytes) {}

  /**
   * Creates a log.
   *
   * @param resumed true if an earlier control plane may have written to it
   */
  EventLog(String query, boolean resumed) {
    this.query = query;
    this.restored = !resumed;
  }

  EventFeed feed() {
    return feed;
  }

  /** Reads the entries of an earlier control plane, once. */
  void restore(EventStore store) {
    if (restored) {
      return;
    }
    kept.clear();
    keptBytes = 0;
    long number = 0;
    for (List<EventStore.StoredEntry> page = store.writtenAfter(query, number);
        !page.isEmpty();
        page = store.writtenAfter(query, number)) {
      page.forEach(this::restore);
      number = page.get(page.size() - 1).entry().number();
    }
    restored = true;
  }

  private void restore(EventStore.StoredEntry written) {
    Map<String, String> fields = written.fields();
    numbers.restore(
        fields.get("monitor"),
        Long.parseUnsignedLong(fields.get("incarnation")),
        Long.parseLong(fields.get("next")),
        fields.get("last").equals("1"));
    numbers.restore(
        new EventNumbers.CutBatch(
            written.entry().number(),
            0,
            Long.parseLong(fields.get("received")),
            Long.parseLong(fields.get("missing")),
            Long.parseLong(fields.get("interrupted"))));
    keep(written.entry());
  }

  /** Returns the entry to write for a batch; empty if it contains nothing new or can't be read. */
  Optional<EventStore.Write> take(EventBatch batch) {
    return list(batch).flatMap(list -> take(batch, list));
  }

  private Optional<EventStore.Write> take(EventBatch batch, EventList list) {
    return numbers
        .take(batch)
        .map(
            cut -> {
              EventEntry entry = new EventEntry(cut.entry(), EventText.json(batch, list, cut));
              keep(entry);
              return new EventStore.Write(batch, cut, entry, kept.element().number());
            });
  }

  /** Returns a batch's events; empty if they can't be read, in which case they count as missing. */
  private static Optional<EventList> list(EventBatch batch) {
    try {
      EventList list = EventList.parseFrom(batch.getEvents());
      if (list.getEventsCount() == batch.getCount()) {
        return Optional.of(list);
      }
      LOG.warn(
          "{} of {} announced a different number of events than it sent",
          batch.getMonitor(),
          batch.getQuery());
    } catch (InvalidProtocolBufferException e) {
      LOG.warn("can't read events of {} from {}", batch.getQuery(), batch.getMonitor());
    }
    return Optional.empty();
  }

  private void keep(EventEntry entry) {
    kept.add(new Size(entry.number(), entry.json().length));
    keptBytes += entry.json().length;
    while (kept.size() > KEPT_ENTRIES || kept.size() > 1 && keptBytes > KEPT_BYTES) {
      keptBytes -= kept.remove().bytes();
    }
  }
}
