package io.tapline.control.drill;

import io.tapline.compiler.access.Rights;
import io.tapline.compiler.access.Scope;
import io.tapline.schema.rpc.NodeAlert;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.BiConsumer;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** The watches that run in monitors, each as a query with a trigger. Thread-safe. */
public final class MonitorWatches {
  private static final Logger LOG = LoggerFactory.getLogger(MonitorWatches.class);
  private static final long FIRST_PAUSE_NS = 5_000_000_000L;
  private static final long LONGEST_PAUSE_NS = 300_000_000_000L;

  /** Receives the alerts of a run, in order, on one thread at a time. */
  public interface Listener {
    /**
     * An alert.
     *
     * @param id the same for the same alert, also after a restart of the server
     * @param monitor name of the monitor
     * @param replayed true if an earlier server may have reported it
     */
    void alert(NodeAlert alert, String id, String monitor, boolean replayed);
  }

  /**
   * The end of a run.
   *
   * @param failed true if it ended with an error, so that it can be started again
   */
  public record End(boolean failed, String reason) {}

  /** Runs queries for watches. Thread-safe. */
  public interface Runs {
    /**
     * Starts a query for a watch.
     *
     * @param maxWatches maximum number of the tenant's queries
     * @return ID of the query
     * @throws DrillException if monitors can't run it, or not now
     */
    String start(WatchSpec watch, Rights rights, int maxWatches) throws DrillException;

    /**
     * Reports the alerts of a query that was started for a watch, those before this call first. A
     * query that is followed already stays so.
     *
     * @param name name of the watch
     */
    void follow(String name, WatchSpec watch, String query, Listener listener);

    /** Returns true if this process follows the query. */
    boolean follows(String query);

    /** Returns the end of a query; empty while it runs. */
    Optional<End> end(String query);

    /** Stops a query, and no longer reports its alerts. */
    void stop(String query);
  }

  /** The next attempt to start a query; pauses grow, as a query may fail each time. */
  private record Retry(long atNs, long pauseNs) {
    static final Retry FIRST = new Retry(System.nanoTime(), FIRST_PAUSE_NS);

    Retry next() {
      return new Retry(System.nanoTime() + pauseNs, Math.min(LONGEST_PAUSE_NS, 2 * pauseNs));
    }
  }

  private final Map<String, Retry> retries = new ConcurrentHashMap<>();
  private final Set<String> starting = ConcurrentHashMap.newKeySet();
  private final WatchTable table;
  private final Listener listener;
  private final BiConsumer<String, String> ender;
  private volatile Runs runs;

  /**
   * Creates the watches of a table; none runs before {@link #runIn}.
   *
   * @param ender ends a watch, by name, for a reason
   */
  MonitorWatches(WatchTable table, Listener listener, BiConsumer<String, String> ender) {
    this.table = table;
    this.listener = listener;
    this.ender = ender;
  }

  /**
   * Runs watches from now on.
   *
   * @param next null to leave them as they are
   */
  void runIn(Runs next) {
    runs = next;
  }

  /**
   * Starts the query of a watch.
   *
   * @param maxWatches maximum number of the owner's queries
   * @throws DrillException if monitors can't run it, or not now
   */
  void start(WatchRecord watch, int maxWatches) throws DrillException {
    Runs now = runs;
    if (now == null) {
      throw DrillException.unavailable(
          "this server does not run watches in monitors: it captures no packets, or is starting");
    }
    Scope scope = watch.spec().scope();
    String tenant = watch.owner().isEmpty() ? Rights.DEFAULT_TENANT : watch.owner();
    starting.add(watch.id());
    try {
      String query =
          now.start(watch.spec(), new Rights(tenant, scope.isEverything(), scope), maxWatches);
      table.update(watch.id(), record -> record.by(query));
      if (table.active(watch.id()) == null) {
        // It was removed meanwhile.
        now.stop(query);
      } else {
        now.follow(watch.id(), watch.spec(), query, listener);
      }
    } finally {
      starting.remove(watch.id());
    }
  }

  /** Stops the query of a watch, if it has one. */
  void stop(WatchRecord watch) {
    Runs now = runs;
    if (now != null && watch != null && !watch.query().isEmpty()) {
      retries.remove(watch.id());
      now.stop(watch.query());
    }
  }

  /** Follows the queries that run, and starts those that failed or ended with an earlier server. */
  void continueAll() {
    Runs now = runs;
    for (WatchRecord watch : now == null ? List.<WatchRecord>of() : active()) {
      Optional<End> end = now.end(watch.query());
      if (end.isEmpty()) {
        now.follow(watch.id(), watch.spec(), watch.query(), listener);
      } else if (runs != now) {
        // The server stops its queries.
        return;
      } else if (now.follows(watch.query()) && !end.get().failed()) {
        ender.accept(watch.id(), end.get().reason());
      } else {
        restart(now, watch, end.get());
      }
    }
  }

  /** Returns true if another thread starts the watch's query, or has started one since. */
  private boolean isStarting(WatchRecord watch) {
    if (starting.contains(watch.id())) {
      return true;
    }
    WatchRecord now = table.active(watch.id());
    return now == null || !now.query().equals(watch.query());
  }

  private List<WatchRecord> active() {
    return table.all().values().stream()
        .filter(watch -> watch.isActive() && watch.spec().run().inMonitor())
        .toList();
  }

  private void restart(Runs now, WatchRecord watch, End end) {
    Retry retry = retries.getOrDefault(watch.id(), Retry.FIRST);
    if (isStarting(watch) || System.nanoTime() - retry.atNs() < 0) {
      return;
    }
    retries.put(watch.id(), retry.next());
    now.stop(watch.query());
    try {
      start(watch, Integer.MAX_VALUE);
      LOG.info("watch {} runs again: {}", watch.id(), end.reason());
    } catch (DrillException e) {
      LOG.warn("watch {} does not run: {}", watch.id(), e.getMessage());
    }
  }
}
