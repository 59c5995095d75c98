package io.tapline.control.query;

import io.tapline.schema.proto.Plan;
import java.io.IOException;
import java.util.List;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Keeps one query's record up to date. A step that is not stored has not happened: it is stored
 * before any other component learns of it. Thread-safe.
 */
final class Journal {
  private static final Logger LOG = LoggerFactory.getLogger(Journal.class);

  private final StateStore store;
  private QueryRecord record;
  private boolean kept;

  /**
   * A journal of one query.
   *
   * @param kept whether the store already has the record
   */
  Journal(StateStore store, QueryRecord record, boolean kept) {
    this.store = store;
    this.record = record;
    this.kept = kept;
  }

  synchronized QueryRecord record() {
    return record;
  }

  /** Stores the initial record. */
  synchronized void begin() throws IOException {
    kept = true;
    store.put(record);
  }

  /** Stores a step; steps only advance. */
  synchronized void step(QueryStep next) throws IOException {
    if (next.compareTo(record.step()) > 0) {
      note(record.at(next));
    }
  }

  /** Stores the query as users see it. */
  synchronized void info(QueryInfo info) throws IOException {
    note(record.with(info));
  }

  /** Stores the parts and the hosts that they belong on. */
  synchronized void parts(List<Plan> parts) throws IOException {
    note(record.with(parts));
  }

  /** Stores that the query was asked to stop; an unreachable store does not prevent the stop. */
  synchronized void stopping() {
    try {
      if (!record.stopping()) {
        note(record.stopped());
      }
    } catch (IOException e) {
      LOG.error("that {} is to stop can't be kept: {}", record.id(), e.getMessage());
    }
  }

  /** Stores how the query ends; an unreachable store does not prevent the end. */
  synchronized void ending(QueryInfo end) {
    try {
      note(record.with(end).at(QueryStep.ENDING));
    } catch (IOException e) {
      LOG.error("the end of {} can't be kept: {}", record.id(), e.getMessage());
    }
  }

  /** Removes the record: nothing is left to be done. */
  synchronized void remove() {
    try {
      kept = false;
      store.remove(record.id());
    } catch (IOException e) {
      LOG.error("the record of {} stays: {}", record.id(), e.getMessage());
    }
  }

  private void note(QueryRecord next) throws IOException {
    if (kept) {
      store.put(next);
    }
    record = next;
  }
}
