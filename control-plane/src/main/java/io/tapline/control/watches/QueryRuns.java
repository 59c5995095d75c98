package io.tapline.control.watches;

import io.tapline.compiler.TriggerCompiler;
import io.tapline.compiler.access.Rights;
import io.tapline.compiler.text.QueryError;
import io.tapline.control.PipelineException;
import io.tapline.control.ProgressListener;
import io.tapline.control.drill.DrillException;
import io.tapline.control.drill.MonitorWatches;
import io.tapline.control.drill.MonitorWatches.Place;
import io.tapline.control.drill.MonitorWatches.Watch;
import io.tapline.control.drill.WatchSpec;
import io.tapline.control.query.QueryInfo;
import io.tapline.control.query.QueryRejected;
import io.tapline.control.query.QueryService;
import io.tapline.control.query.QueryState;
import io.tapline.control.query.TooManyQueries;
import io.tapline.control.query.monitors.Source;
import io.tapline.schema.proto.PacketTrigger;
import io.tapline.schema.rpc.MonitorStatus;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.IntFunction;
import java.util.stream.Collectors;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Runs watches as triggers of this server's queries. Watches of the same owner, scope and window
 * share queries. The triggers' events become alerts. Like all other events, each arrives once, and
 * a server that takes over reads those that an earlier server logged.
 */
public final class QueryRuns implements MonitorWatches.Runs, AutoCloseable {
  private static final Logger LOG = LoggerFactory.getLogger(QueryRuns.class);

  /**
   * Time within which a monitor that is already counting usually prepares and replaces triggers.
   */
  private static final long RESPONSE_MS = 1_000;

  private final QueryService queries;
  private final Source source;
  private final Map<String, WatchGroup> groups = new LinkedHashMap<>();
  private final Map<String, EventFollower> followers = new HashMap<>();
  private final ScheduledExecutorService worker =
      Executors.newSingleThreadScheduledExecutor(
          task -> {
            Thread thread = new Thread(task, "monitor-watches");
            thread.setDaemon(true);
            return thread;
          });

  /**
   * Creates the runs of a server. If there is a source, starts a {@link WatchWarmup}.
   *
   * @param source source of packets; null if there is none
   */
  public QueryRuns(QueryService queries, Source source) {
    this.queries = queries;
    this.source = source;
    if (source != null) {
      WatchWarmup.start(queries.planner(), source);
    }
  }

  @Override
  public List<PacketTrigger> compile(
      List<WatchSpec> watches, Rights rights, IntFunction<String> places) throws DrillException {
    requireSource();
    TriggerCompiler.CompiledTriggers compiled =
        queries
            .planner()
            .triggerCompiler(MonitorQuery.clauses(watches.get(0)), source, rights)
            .compile(watches.stream().map(MonitorQuery::trigger).toList());
    int right = compiled.triggers().size();
    if (right < watches.size()) {
      DrillException error =
          compiled.errors().isEmpty()
              ? DrillException.invalid("a monitor can't test the watch on packets")
              : rejected(compiled.errors());
      throw error.at(places.apply(right));
    }
    return compiled.triggers();
  }

  private void requireSource() throws DrillException {
    if (source == null || source.hosts().isEmpty()) {
      throw DrillException.invalid(
          "run=monitor needs a server that captures: start it with --interface or --agents");
    }
    String unavailable = source.unavailable();
    if (!unavailable.isEmpty()) {
      throw DrillException.unavailable(unavailable);
    }
  }

  /** Throws if an agent can't change the triggers of a running query, as shared queries require. */
  private void requireTriggerChanges() throws DrillException {
    List<String> old = source.withoutTriggerChanges();
    if (!old.isEmpty()) {
      throw DrillException.unavailable(
          "these hosts' agents are older than the server and can't change the triggers of a query: %s. Upgrade tapline-agent there"
              .formatted(String.join(", ", old)));
    }
  }

  private static DrillException rejected(List<QueryError> errors) {
    return DrillException.invalid(
        "a monitor can't run the watch; run=node evaluates aggregates of all header fields. "
            + errors.stream()
                .map(error -> error.message() + " (expected: " + error.expected() + ")")
                .collect(Collectors.joining("; ")));
  }

  @Override
  public List<Place> start(
      List<Watch> watches, Rights rights, int maxQueries, MonitorWatches.Listener listener)
      throws DrillException {
    requireSource();
    requireTriggerChanges();
    List<Place> places = new ArrayList<>();
    try {
      for (WatchGroup group : place(watches, rights, maxQueries, listener, places)) {
        requireAccepted(group);
      }
      return places;
    } catch (DrillException e) {
      stop(places);
      throw e;
    }
  }

  /**
   * Assigns watches to queries, submits new queries as needed, and sends changed triggers. Appends
   * the assignments to {@code places}. Returns the groups whose queries are already running.
   */
  private synchronized List<WatchGroup> place(
      List<Watch> watches,
      Rights rights,
      int maxQueries,
      MonitorWatches.Listener listener,
      List<Place> places)
      throws DrillException {
    Map<WatchGroup.Key, String> latest = new HashMap<>();
    for (Watch watch : watches) {
      WatchGroup.Key key = key(watch, rights);
      String query = latest.get(key);
      if (query == null || !groups.get(query).takes(key, watch.trigger())) {
        Optional<String> found = queryFor(key, watch);
        query = found.isPresent() ? found.get() : submit(watch, key, rights, maxQueries);
        latest.put(key, query);
      }
      places.add(new Place(query, groups.get(query).add(watch, listener)));
    }
    for (Map.Entry<String, WatchGroup> group : groups.entrySet()) {
      String refusal = send(group.getKey(), group.getValue());
      if (!refusal.isEmpty()) {
        throw DrillException.invalid(refusal);
      }
    }
    return places.stream()
        .map(Place::query)
        .distinct()
        .filter(this::isRunning)
        .map(groups::get)
        .toList();
  }

  private boolean isRunning(String query) {
    return queries.find(query).filter(info -> info.state() == QueryState.RUNNING).isPresent();
  }

  private static WatchGroup.Key key(Watch watch, Rights rights) {
    return new WatchGroup.Key(
        rights.tenant(), rights.scope().limits().orElse("*"), watch.spec().everyNs());
  }

  private Optional<String> queryFor(WatchGroup.Key key, Watch watch) {
    return groups.entrySet().stream()
        .filter(
            group -> group.getValue().takes(key, watch.trigger()) && end(group.getKey()).isEmpty())
        .map(Map.Entry::getKey)
        .findFirst();
  }

  /** Starts a query whose plan has the watch as trigger 0. */
  private String submit(Watch watch, WatchGroup.Key key, Rights rights, int maxQueries)
      throws DrillException {
    try {
      String text = MonitorQuery.text(watch.spec());
      String query = queries.submit(text, source, new WarningLog(), rights, maxQueries);
      follow(query, new WatchGroup(key));
      followers.get(query).start();
      return query;
    } catch (QueryRejected e) {
      throw rejected(e.errors());
    } catch (TooManyQueries e) {
      throw DrillException.tooManyQueries(e.getMessage());
    } catch (PipelineException e) {
      throw DrillException.unavailable(e.getMessage());
    }
  }

  private WatchGroup follow(String query, WatchGroup group) {
    groups.put(query, group);
    followers.put(query, new EventFollower(queries, worker, query, group));
    return group;
  }

  /** Sends a group's triggers if they have changed; returns the reason if they are refused. */
  private String send(String query, WatchGroup group) {
    return group.isChanged() ? queries.triggers(query, group.next(), group::answered) : "";
  }

  /**
   * Throws if a monitor that is already counting refuses the watches. Waits up to {@link
   * #RESPONSE_MS} for the response, which may come later, since it can take as long as a window.
   */
  private static void requireAccepted(WatchGroup group) throws DrillException {
    try {
      MonitorStatus.Triggers response = group.answer().get(RESPONSE_MS, TimeUnit.MILLISECONDS);
      if (!response.hasSinceNs()) {
        throw DrillException.invalid("the monitor refuses the watches: " + response.getMessage());
      }
    } catch (TimeoutException e) {
      LOG.debug("the monitor has not accepted the watches yet");
    } catch (ExecutionException e) {
      throw new IllegalStateException(e);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw DrillException.unavailable("the server is shutting down");
    }
  }

  @Override
  public synchronized void follow(
      Watch watch, Place place, Rights rights, MonitorWatches.Listener listener) {
    WatchGroup group = groups.get(place.query());
    if (group == null) {
      group = follow(place.query(), new WatchGroup(key(watch, rights)));
    }
    if (!group.has(place.trigger())) {
      group.put(place.trigger(), watch, listener);
    }
  }

  @Override
  public synchronized void resume() {
    // Only now do the groups know all their watches; events of unknown watches are dropped.
    followers.values().forEach(EventFollower::start);
    groups.forEach(this::send);
  }

  @Override
  public synchronized boolean follows(Place place) {
    WatchGroup group = groups.get(place.query());
    return group != null && group.has(place.trigger());
  }

  @Override
  public synchronized OptionalLong countingSinceNs(Place place) {
    WatchGroup group = groups.get(place.query());
    return group == null ? OptionalLong.empty() : group.sinceNs(place.trigger());
  }

  @Override
  public Optional<MonitorWatches.End> end(String query) {
    if (query.isEmpty()) {
      return Optional.of(new MonitorWatches.End(true, "it has no query"));
    }
    Optional<QueryInfo> queryInfo = queries.find(query);
    if (queryInfo.isEmpty()) {
      return Optional.of(new MonitorWatches.End(true, "query " + query + " is no longer known"));
    }
    QueryState state = queryInfo.get().state();
    if (!state.ended()) {
      return Optional.empty();
    }
    boolean failed = state == QueryState.FAILED;
    String reason = failed ? "failed: " + queryInfo.get().error() : "was " + state.text();
    return Optional.of(new MonitorWatches.End(failed, "its query %s %s".formatted(query, reason)));
  }

  @Override
  public synchronized void stop(Collection<Place> places) {
    Map<String, List<Integer>> numbers =
        places.stream()
            .collect(
                Collectors.groupingBy(
                    Place::query, Collectors.mapping(Place::trigger, Collectors.toList())));
    numbers.forEach(
        (query, removed) -> {
          WatchGroup group = groups.get(query);
          if (group != null) {
            group.remove(removed);
          }
          if (group == null || group.isEmpty()) {
            groups.remove(query);
            Optional.ofNullable(followers.remove(query)).ifPresent(EventFollower::close);
            queries.stop(query);
          } else {
            send(query, group);
          }
        });
  }

  @Override
  public void close() {
    worker.shutdownNow();
  }

  /** Logs warnings, since a watch has no user at a terminal. */
  private static final class WarningLog implements ProgressListener {
    @Override
    public void progress(String stage, double fraction, long packets, long bytes) {}

    @Override
    public void warning(String message) {
      LOG.warn("{}", message);
    }
  }
}
