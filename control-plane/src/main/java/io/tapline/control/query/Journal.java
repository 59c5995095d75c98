package io.tapline.control.query;

import io.tapline.schema.proto.Plan;
import java.io.IOException;
import java.util.List;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Keeps one query's record as the query goes on. What was not kept has not happened: a step is
 * noted before anybody hears of it. Thread-safe.
 */
final class Journal {
  private static final Logger LOG = LoggerFactory.getLogger(Journal.class);

  private final StateStore store;
  private QueryRecord record;
  private boolean kept;

  /**
   * A query's.
   *
   * @param kept whether the store has the record
   */
  Journal(StateStore store, QueryRecord record, boolean kept) {
    this.store = store;
    this.record = record;
    this.kept = kept;
  }

  synchronized QueryRecord record() {
    return record;
  }

  /** Keeps the record as it was made. */
  synchronized void begin() throws IOException {
    kept = true;
    store.put(record);
  }

  /** Steps go forward only. */
  synchronized void step(QueryStep next) throws IOException {
    if (next.compareTo(record.step()) > 0) {
      note(record.at(next));
    }
  }

  /** How people see it. */
  synchronized void info(QueryInfo info) throws IOException {
    note(record.with(info));
  }

  /** Where its parts are to be. */
  synchronized void parts(List<Plan> parts) throws IOException {
    note(record.with(parts));
  }

  /** Somebody has asked it to stop; a store that can't be reached does not keep it from that. */
  synchronized void stopping() {
    try {
      if (!record.stopping()) {
        note(record.stopped());
      }
    } catch (IOException e) {
      LOG.error("that {} is to stop can't be kept: {}", record.id(), e.getMessage());
    }
  }

  /** How it ends; a store that can't be reached does not keep it from ending. */
  synchronized void ending(QueryInfo end) {
    try {
      note(record.with(end).at(QueryStep.ENDING));
    } catch (IOException e) {
      LOG.error("the end of {} can't be kept: {}", record.id(), e.getMessage());
    }
  }

  /** Nothing is left to be done. */
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
