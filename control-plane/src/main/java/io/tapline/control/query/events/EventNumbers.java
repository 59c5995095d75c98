package io.tapline.control.query.events;

import io.tapline.schema.rpc.EventBatch;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;

/**
 * Tracks which events of a query are logged, by the numbers that its monitors assign
 * (schema/event.proto): recognizes repeated events and counts missing ones. Confined to one thread.
 */
final class EventNumbers {
  private final Map<String, Origin> origins = new HashMap<>();
  private long entry;
  private long received;
  private long missing;
  private long interrupted;

  /** One monitor's latest incarnation. */
  private static final class Origin {
    private final long incarnation;
    private long next;
    private boolean ended;

    Origin(long incarnation) {
      this.incarnation = incarnation;
    }
  }

  /**
   * The new part of a batch, with the query's totals after it.
   *
   * @param entry position in the log
   * @param skip number of events at the beginning that are already logged
   * @param received number of the query's events so far, including these
   * @param missing number of events lost on their way so far, as far as gaps in their numbers show
   * @param interrupted number of monitor processes that ended without a last batch; the number of
   *     their lost events is unknown
   */
  record CutBatch(long entry, int skip, long received, long missing, long interrupted) {}

  /** Restores the state of a monitor from the last entry that an earlier control plane logged. */
  void restore(String monitor, long incarnation, long next, boolean ended) {
    Origin origin = new Origin(incarnation);
    origin.next = next;
    origin.ended = ended;
    origins.put(monitor, origin);
  }

  /** Restores the totals of the last entry. */
  void restore(CutBatch last) {
    entry = last.entry();
    received = last.received();
    missing = last.missing();
    interrupted = last.interrupted();
  }

  /** Returns the number of the monitor's first event that the log will lack after this batch. */
  long next(EventBatch batch) {
    Origin origin = origins.get(batch.getMonitor());
    long end = batch.getFirst() + batch.getCount();
    boolean current = origin != null && origin.incarnation == batch.getIncarnation();
    return current ? Math.max(origin.next, end) : end;
  }

  /** Counts a batch; returns empty if it contains nothing new. */
  Optional<CutBatch> take(EventBatch batch) {
    Origin origin = origins.get(batch.getMonitor());
    boolean isKnown = origin != null && origin.incarnation == batch.getIncarnation();
    if (!isKnown) {
      if (origin != null && Long.compareUnsigned(batch.getIncarnation(), origin.incarnation) < 0) {
        // The process that sent it has been replaced; if it had not ended, it was counted as
        // interrupted.
        return Optional.empty();
      }
      if (origin != null && !origin.ended) {
        interrupted++;
      }
      origin = new Origin(batch.getIncarnation());
      origins.put(batch.getMonitor(), origin);
    }
    long end = batch.getFirst() + batch.getCount();
    boolean ends = batch.getLast() && !origin.ended;
    if (end <= origin.next && !ends) {
      return Optional.empty();
    }
    long gap = Math.max(0, batch.getFirst() - origin.next);
    int skip = (int) Math.min(batch.getCount(), Math.max(0, origin.next - batch.getFirst()));
    origin.next = Math.max(origin.next, end);
    origin.ended |= batch.getLast();
    missing += gap;
    received += batch.getCount() - skip;
    entry++;
    return Optional.of(new CutBatch(entry, skip, received, missing, interrupted));
  }
}
