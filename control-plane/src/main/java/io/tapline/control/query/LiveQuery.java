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
 * A query that has not ended: its state only advances, and each change is written to Redis.
 * Thread-safe.
 */
final class LiveQuery {
  private static final Logger LOG = LoggerFactory.getLogger(LiveQuery.class);

  private final QueryStore store;
  private final Journal journal;
  private final String plan;
  private final CompletableFuture<Void> end = new CompletableFuture<>();
  private QueryInfo info;
  // True if the last write failed because Redis could not be reached.
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

  /** Returns the plan as JSON, parsed only once; callers must not change it. */
  JsonNode plan() {
    JsonNode parsed = parsedPlan;
    if (parsed == null) {
      parsed = QueryStore.parse(plan);
      parsedPlan = parsed;
    }
    return parsed;
  }

  /** Returns the services of the query's stream. */
  Stream stream() {
    return journal.record().plan().getStream();
  }

  /** Returns the query as users see it now. */
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

  /**
   * Completes when the query has ended and everything of it except its results has been removed.
   */
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

  /** Removes the query's record: no control plane has to resume it. */
  void forgotten() {
    journal.remove();
  }

  /** Writes how the query ended, as an earlier control plane recorded it. */
  synchronized void rewriteAs(QueryInfo end) {
    info = end;
    unwritten = true;
    if (!written()) {
      LOG.error("query {} can't be written to Redis", end.id());
    }
  }

  /**
   * Enters a state; does nothing if the query is past it. An unreachable store is logged: the query
   * continues or ends without it.
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

  /**
   * Returns true if Redis has the query's state; if an earlier write failed, writes everything
   * again first.
   */
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

  /** Records how the query will end once all that it used has been removed. */
  synchronized void ending(QueryState state, String error) {
    journal.ending(next(state, error));
  }

  /**
   * Asks the query to end with the results so far; the request is recorded for a control plane that
   * resumes the query.
   */
  void stop() {
    journal.stopping();
    run.stop();
  }

  /** Writes everything again to a store that has lost it. */
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
