package io.tapline.control.query;

import com.fasterxml.jackson.databind.JsonNode;
import io.tapline.control.PipelineException;
import io.tapline.control.PipelineException.Kind;
import io.tapline.control.ProgressListener;
import io.tapline.control.query.monitors.Source;
import io.tapline.control.query.services.JobCluster.JobEnd;
import io.tapline.control.registry.TriggerSet;
import io.tapline.schema.Plans;
import io.tapline.schema.proto.Plan;
import io.tapline.schema.proto.Stream;
import io.tapline.schema.rpc.MonitorStatus;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ExecutionException;
import java.util.function.Consumer;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import redis.clients.jedis.exceptions.JedisException;

/**
 * A query from its submission to its last window. It starts its topic, job and monitors in this
 * order, or the monitors before the job if they read captures. The end propagates from the monitors
 * through the topic to the job. {@link #run} removes the topic, the job with its Redis user, and
 * the monitors, even if it fails, unless {@link #detach} was called.
 *
 * <p>Its state only advances. Each state is stored, for the control plane that may have to resume
 * the query, before it is written to Redis. Thread-safe.
 */
final class Query {
  private static final Logger LOG = LoggerFactory.getLogger(Query.class);

  private final QueryEnvironment environment;
  private final StateStore records;
  private final Start start;
  private final ProgressListener progress;
  private final String plan;
  private final RunComponents components;
  private final QueryMonitors monitors;
  private final CompletableFuture<Void> end = new CompletableFuture<>();

  /** Completes exceptionally when something that the query depends on has failed. */
  private final CompletableFuture<Void> aborted = new CompletableFuture<>();

  private volatile QueryInfo info;

  /**
   * The record as stored: its state is ahead of {@link #info} while an ended query is cleaned up.
   */
  private volatile QueryRecord record;

  /** True while the store must have the record. */
  private boolean stored;

  /** True if the last write to Redis failed. */
  private boolean unwritten;

  private volatile boolean detached;
  private volatile JsonNode parsedPlan;

  /**
   * The way in which a query starts.
   *
   * @param resumed true if an earlier control plane started it
   * @param refusal reason why it can't start; empty if it can
   */
  record Start(boolean resumed, String refusal, Source source) {}

  /**
   * Creates a query that is about to run.
   *
   * @param records store of the query's record
   */
  Query(
      QueryEnvironment environment,
      StateStore records,
      QueryRecord record,
      Start start,
      ProgressListener progress) {
    this.environment = environment;
    this.records = records;
    this.record = record;
    this.start = start;
    this.progress = progress;
    this.stored = start.resumed();
    this.info = record.info();
    this.plan = Plans.toJson(record.plan());
    this.components = new RunComponents(environment, record, start, progress);
    this.monitors = new QueryMonitors(this, environment, start, progress);
  }

  String id() {
    return info.id();
  }

  QueryRecord record() {
    return record;
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
    return record.plan().getStream();
  }

  /** Returns the query as users see it now. */
  QueryInfo shown() {
    QueryInfo knownInfo = info.shown();
    return knownInfo.state().ended() ? knownInfo : knownInfo.noting(components.hindrance());
  }

  /**
   * Completes when the query has ended and all its resources except its results have been removed.
   */
  CompletableFuture<Void> end() {
    return end;
  }

  /** Stores the submitted query and writes it to Redis. */
  synchronized void submit() {
    try {
      stored = true;
      records.put(record);
    } catch (IOException e) {
      throw new UncheckedIOException("can't store the query: " + e.getMessage(), e);
    }
    environment.store().add(info, plan);
  }

  /** Removes the query's record, so that no control plane resumes the query. */
  synchronized void forget() {
    try {
      stored = false;
      records.remove(id());
    } catch (IOException e) {
      LOG.error("can't delete the record of {}: {}", id(), e.getMessage());
    }
  }

  /**
   * Enters a state that must be stored before any component relies on it; does nothing if the query
   * has already reached it.
   */
  private synchronized void advance(QueryState next) throws IOException {
    if (isBefore(next)) {
      QueryInfo now = info.in(next, "");
      store(record.with(now));
      show(now);
    }
  }

  /**
   * Enters a state; does nothing if the query has already reached it. If the state can't be stored,
   * logs that and enters it nevertheless.
   */
  synchronized void enter(QueryState next, String error) {
    if (!isBefore(next)) {
      return;
    }
    QueryInfo now = info.in(next, error);
    try {
      store(record.with(now));
    } catch (IOException e) {
      LOG.error("can't store state {} of query {}", next, id(), e);
    }
    show(now);
  }

  private boolean isBefore(QueryState next) {
    return info.state().compareTo(next) < 0
        && !info.state().ended()
        && (next.ended() || !record.hasEnded());
  }

  private void show(QueryInfo now) {
    boolean differs = info.shown().state() != now.shown().state();
    info = now;
    if (!differs) {
      return;
    }
    try {
      environment.store().update(info);
      unwritten = false;
    } catch (JedisException e) {
      LOG.error("can't write state {} of query {} to Redis", info.state(), id(), e);
      unwritten = true;
    }
  }

  /** Stores the final state, which the query enters once its resources have been removed. */
  private synchronized void recordEnd(QueryState state, String error) {
    try {
      store(record.with(info.in(state, error)));
    } catch (IOException e) {
      LOG.error("can't store the end of {}: {}", id(), e.getMessage());
    }
  }

  /** Stores the parts and their assigned hosts; returns the record. */
  synchronized QueryRecord move(List<Plan> parts) throws IOException {
    store(record.with(parts));
    return record;
  }

  private void store(QueryRecord next) throws IOException {
    if (stored) {
      records.put(next);
    }
    record = next;
  }

  /**
   * Returns true if Redis has the query's state; if an earlier write failed, writes everything
   * again first.
   */
  synchronized boolean written() {
    if (unwritten) {
      try {
        environment.store().add(info, plan);
        environment.store().update(info);
        unwritten = false;
      } catch (JedisException e) {
        LOG.debug("can't write query {} to Redis", id(), e);
      }
    }
    return !unwritten;
  }

  /** Rewrites everything to a Redis server that has lost it. */
  synchronized void rewrite() {
    environment.store().add(info, plan);
  }

  /** Writes the query to Redis as an earlier control plane recorded it. */
  synchronized void rewriteAs(QueryInfo knownInfo) {
    info = knownInfo;
    unwritten = true;
    if (!written()) {
      LOG.error("can't write query {} to Redis", id());
    }
  }

  /**
   * Runs the query until it ends.
   *
   * @return FINISHED, or STOPPED if the query was asked to stop
   */
  QueryState run() throws PipelineException {
    enter(QueryState.STARTING, "");
    try {
      QueryState ended = runToEnd();
      recordEnd(ended, "");
      return ended;
    } catch (PipelineException e) {
      recordEnd(QueryState.FAILED, e.getMessage());
      throw e;
    } finally {
      try (ProgressListener.Phase cleaning = progress.phase("remove the topic")) {
        cleanUp();
      }
    }
  }

  private QueryState runToEnd() throws PipelineException {
    boolean isLive = start.source().live();
    try {
      if (start.resumed()) {
        components.resume();
      } else {
        components.create();
        // The topic keeps a whole capture, so the job may start later.
        if (!isLive && !startMonitors()) {
          return QueryState.STOPPED;
        }
        components.submitJob();
      }
      advance(QueryState.PLACED);
      if ((isLive || start.resumed()) && !startMonitors()) {
        return QueryState.STOPPED;
      }
      awaitEnd();
      return monitors.isStopRequested() ? QueryState.STOPPED : QueryState.FINISHED;
    } catch (IOException e) {
      throw new PipelineException(Kind.RESOURCES, e.getMessage(), e);
    } catch (IllegalArgumentException e) {
      throw new PipelineException(Kind.INTERNAL, e.getMessage(), e);
    }
  }

  private boolean startMonitors() throws IOException {
    return monitors.start(components::progress, this::mirror);
  }

  /** Programs the switches. Called once all monitors capture, and again after a part has moved. */
  private void mirror() {
    enter(QueryState.MIRRORING, "");
    environment
        .placements()
        .mirror(id(), () -> enter(QueryState.RUNNING, ""), monitors.onMirrored());
  }

  private void awaitEnd() throws PipelineException {
    CompletableFuture<Void> captured = monitors.end();
    CompletableFuture<JobEnd> job = components.jobEnd();
    try {
      CompletableFuture.anyOf(aborted, captured, job).join();
      if (job.isDone() && !captured.isDone()) {
        requireSuccess(job.join());
        monitors.scheduleKill();
      }
      CompletableFuture.anyOf(aborted, captured).join();
      progress.progress("computing results", Double.NaN, 0, 0);
      requireSuccess(components.awaitJob(aborted));
    } catch (CompletionException | ExecutionException e) {
      if (monitors.killed()) {
        LOG.warn("the monitor of {} ended without sending its last tuples", id());
        return;
      }
      throw e.getCause() instanceof PipelineException known
          ? known
          : new PipelineException(Kind.INTERNAL, "the query failed: " + e.getCause(), e.getCause());
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new PipelineException(Kind.INTERNAL, "interrupted", e);
    }
  }

  private static void requireSuccess(JobEnd end) throws PipelineException {
    if (end.failure() != null) {
      throw new PipelineException(
          Kind.INTERNAL, "the stream job failed: " + end.failure(), end.cause());
    }
  }

  /** Removes the remaining resources of a query whose end an earlier control plane recorded. */
  void cleanUpAfter() throws PipelineException {
    try {
      components.findJob();
    } catch (IOException e) {
      throw new PipelineException(Kind.RESOURCES, e.getMessage(), e);
    } finally {
      cleanUp();
    }
  }

  private void cleanUp() {
    if (!detached) {
      monitors.close();
      components.remove();
    }
  }

  /**
   * Asks the query to end with the results so far; the request is stored for a control plane that
   * resumes the query. Idempotent.
   */
  void stop() {
    recordStop();
    monitors.stop();
  }

  /** Stores that the query was asked to stop; an unreachable store does not prevent the stop. */
  private synchronized void recordStop() {
    try {
      if (!record.stopping()) {
        store(record.stopped());
      }
    } catch (IOException e) {
      LOG.error("can't store the request to stop {}: {}", id(), e.getMessage());
    }
  }

  /** Replaces the packet triggers, as {@code QueryMonitor.triggers} describes. */
  void triggers(TriggerSet set, Consumer<MonitorStatus.Triggers> responses) {
    monitors.triggers(set, responses);
  }

  /**
   * Asks the query to end, but does not store the request, so another control plane would resume
   * the query.
   */
  void stopHere() {
    monitors.stop();
  }

  /** Fails the query because something that it depends on has failed. */
  void abort(String reason) {
    aborted.completeExceptionally(new PipelineException(Kind.RESOURCES, reason));
  }

  /** Leaves the query to another control plane: from now on, nothing is cleaned up. */
  void detach() {
    detached = true;
  }
}
