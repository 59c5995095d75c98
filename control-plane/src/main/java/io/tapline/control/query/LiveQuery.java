package io.tapline.control.query;

import com.fasterxml.jackson.databind.JsonNode;
import io.tapline.schema.proto.Stream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.time.Instant;
import java.util.concurrent.CompletableFuture;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import redis.clients.jedis.exceptions.JedisException;

/**
 * A query that has not ended: its state goes forward only, and is written to Redis as it does.
 * Thread-safe.
 */
final class LiveQuery {
  private static final Logger LOG = LoggerFactory.getLogger(LiveQuery.class);

  private final QueryStore store;
  private final Journal journal;
  private final String plan;
  private final CompletableFuture<Void> end = new CompletableFuture<>();
  private QueryInfo info;
  // Redis could not be reached when it was last written.
  private boolean unwritten;
  private volatile QueryRun run;
  private volatile JsonNode parsedPlan;

  LiveQuery(QueryInfo info, String plan, QueryStore store, Journal journal) {
    this.journal = journal;
    this.info = info;
    this.plan = plan;
    this.store = store;
  }

  String id() {
    return info.id();
  }

  synchronized QueryInfo info() {
    return info;
  }

  /** The plan as JSON, not to be changed: parsed once, however often it is asked for. */
  JsonNode plan() {
    JsonNode parsed = parsedPlan;
    if (parsed == null) {
      parsed = QueryStore.parse(plan);
      parsedPlan = parsed;
    }
    return parsed;
  }

  /** Where its stream is. */
  Stream stream() {
    return journal.record().plan().getStream();
  }

  /** As people are to see it now. */
  QueryInfo shown() {
    QueryInfo known = info();
    return known.state().ended() ? known : known.noting(run.hindrance());
  }

  /** REQUIRES: called once, before anything else but {@link #id}. */
  void runs(QueryRun newRun) {
    run = newRun;
  }

  QueryRun run() {
    return run;
  }

  /** Completes when the query has ended and everything of it but its results is gone. */
  CompletableFuture<Void> end() {
    return end;
  }

  /** Writes the query as it was submitted. */
  void submitted() {
    try {
      journal.begin();
    } catch (IOException e) {
      throw new UncheckedIOException("the query can't be kept: " + e.getMessage(), e);
    }
    store.add(info, plan);
  }

  /** Nobody need go on with it. */
  void forgotten() {
    journal.remove();
  }

  /** Writes how it ended, as another control plane had found. */
  synchronized void rewriteAs(QueryInfo end) {
    info = end;
    unwritten = true;
    if (!written()) {
      LOG.error("query {} can't be written to Redis", end.id());
    }
  }

  /**
   * Enters a state; nothing happens if the query is past it. A store that can't be reached is
   * logged: the query goes on or ends without it.
   */
  synchronized void enter(QueryState state, String error) {
    if (info.state().compareTo(state) >= 0 || info.state().ended()) {
      return;
    }
    info = next(state, error);
    try {
      journal.info(info);
    } catch (IOException e) {
      LOG.error("state {} of query {} can't be kept", state, info.id(), e);
    }
    try {
      store.update(info);
      unwritten = false;
    } catch (JedisException e) {
      LOG.error("state {} of query {} can't be written to Redis", state, info.id(), e);
      unwritten = true;
    }
  }

  /** Whether Redis has its state; writes it, with all else, where that had failed. */
  synchronized boolean written() {
    if (unwritten) {
      try {
        store.add(info, plan);
        store.update(info);
        unwritten = false;
      } catch (JedisException e) {
        LOG.debug("query {} can't be written to Redis", info.id(), e);
      }
    }
    return !unwritten;
  }

  /** How it will end, once all that it used is gone. */
  synchronized void ending(QueryState state, String error) {
    journal.ending(next(state, error));
  }

  /** Asks it to end with what it has seen; whoever goes on with it will know. */
  void stop() {
    journal.stopping();
    run.stop();
  }

  /** Writes everything again, to a store that has lost it. */
  synchronized void rewrite() {
    store.add(info, plan);
  }

  private QueryInfo next(QueryState state, String error) {
    long startedNs = state == QueryState.RUNNING ? nowNs() : info.startedNs();
    long endedNs = state.ended() ? nowNs() : 0;
    return new QueryInfo(
        info.id(), info.text(), state, info.submittedNs(), startedNs, endedNs, error, info.notes());
  }

  static long nowNs() {
    Instant now = Instant.now();
    return now.getEpochSecond() * 1_000_000_000L + now.getNano();
  }
}
