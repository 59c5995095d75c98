package io.tapline.control.watches;

import io.tapline.compiler.access.Rights;
import io.tapline.control.PipelineException;
import io.tapline.control.ProgressListener;
import io.tapline.control.drill.DrillException;
import io.tapline.control.drill.MonitorWatches;
import io.tapline.control.drill.WatchSpec;
import io.tapline.control.query.QueryInfo;
import io.tapline.control.query.QueryRejected;
import io.tapline.control.query.QueryService;
import io.tapline.control.query.QueryState;
import io.tapline.control.query.TooManyQueries;
import io.tapline.control.query.monitors.Source;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.stream.Collectors;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Runs watches as queries of this server. The events of their triggers are the alerts: they take
 * the path of all events, so each arrives once, and a server that takes over reads those that an
 * earlier one has logged.
 */
public final class QueryRuns implements MonitorWatches.Runs, AutoCloseable {
  private static final Logger LOG = LoggerFactory.getLogger(QueryRuns.class);

  private final QueryService queries;
  private final Source source;
  private final Map<String, EventFollower> followers = new ConcurrentHashMap<>();
  private final ScheduledExecutorService worker =
      Executors.newSingleThreadScheduledExecutor(
          task -> {
            Thread thread = new Thread(task, "monitor-watches");
            thread.setDaemon(true);
            return thread;
          });

  /**
   * Creates the runs of a server.
   *
   * @param source source of packets; null if there is none
   */
  public QueryRuns(QueryService queries, Source source) {
    this.queries = queries;
    this.source = source;
  }

  @Override
  public String start(WatchSpec watch, Rights rights, int maxWatches) throws DrillException {
    if (source == null || source.hosts().isEmpty()) {
      throw DrillException.invalid(
          "run=monitor needs a server that captures: start it with --interface or --agents");
    }
    String unavailable = source.unavailable();
    if (!unavailable.isEmpty()) {
      throw DrillException.unavailable(unavailable);
    }
    String text = MonitorQuery.text(watch);
    try {
      return queries.submit(text, source, new WarningLog(), rights, maxWatches);
    } catch (QueryRejected e) {
      throw DrillException.invalid(
          "a monitor can't run the watch; run=node evaluates aggregates of all header fields. "
              + e.errors().stream()
                  .map(error -> error.message() + " (expected: " + error.expected() + ")")
                  .collect(Collectors.joining("; ")));
    } catch (TooManyQueries e) {
      throw DrillException.tooMany(e.getMessage());
    } catch (PipelineException e) {
      throw DrillException.unavailable(e.getMessage());
    }
  }

  @Override
  public void follow(String name, WatchSpec watch, String query, MonitorWatches.Listener listener) {
    followers.computeIfAbsent(
        query,
        id -> {
          EventFollower follower =
              new EventFollower(queries, worker, id, new TriggerAlerts(name, watch, listener));
          follower.start();
          return follower;
        });
  }

  @Override
  public boolean follows(String query) {
    return followers.containsKey(query);
  }

  @Override
  public Optional<MonitorWatches.End> end(String query) {
    if (query.isEmpty()) {
      return Optional.of(new MonitorWatches.End(true, "it has no query"));
    }
    Optional<QueryInfo> found = queries.find(query);
    if (found.isEmpty()) {
      return Optional.of(new MonitorWatches.End(true, "query " + query + " is no longer known"));
    }
    QueryState state = found.get().state();
    if (!state.ended()) {
      return Optional.empty();
    }
    boolean failed = state == QueryState.FAILED;
    String reason = failed ? "failed: " + found.get().error() : "was " + state.text();
    return Optional.of(new MonitorWatches.End(failed, "its query %s %s".formatted(query, reason)));
  }

  @Override
  public void stop(String query) {
    EventFollower follower = followers.remove(query);
    if (follower != null) {
      follower.close();
    }
    queries.stop(query);
  }

  @Override
  public void close() {
    worker.shutdownNow();
  }

  /** Logs warnings: a watch has no user at a terminal. */
  private static final class WarningLog implements ProgressListener {
    @Override
    public void progress(String stage, double fraction, long packets, long bytes) {}

    @Override
    public void warning(String message) {
      LOG.warn("{}", message);
    }
  }
}
