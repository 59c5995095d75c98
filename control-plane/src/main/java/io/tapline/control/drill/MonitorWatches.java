package io.tapline.control.drill;

import io.tapline.compiler.access.Rights;
import io.tapline.compiler.access.Scope;
import io.tapline.schema.proto.PacketTrigger;
import io.tapline.schema.rpc.NodeAlert;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.BiConsumer;
import java.util.function.IntFunction;
import java.util.function.UnaryOperator;
import java.util.stream.Collectors;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** The watches that run in monitors, as triggers of queries. Thread-safe. */
public final class MonitorWatches {
  private static final Logger LOG = LoggerFactory.getLogger(MonitorWatches.class);
  private static final long FIRST_PAUSE_NS = 5_000_000_000L;
  private static final long LONGEST_PAUSE_NS = 300_000_000_000L;

  /** Receives alerts on one thread at a time, those of a query in order. */
  public interface Listener {
    /**
     * Called for each alert.
     *
     * @param id the alert's ID, which stays the same when the server restarts
     * @param monitor name of the monitor
     * @param replayed true if an earlier server may have reported the alert
     */
    void alert(NodeAlert alert, String id, String monitor, boolean replayed);
  }

  /**
   * The end of a query that evaluates watches.
   *
   * @param failed true if the query ended with an error or is unknown, so its watches can restart
   */
  public record End(boolean failed, String reason) {}

  /**
   * A watch and its trigger, compiled by {@link Runs#compile}.
   *
   * @param name name of the watch
   */
  public record Watch(String name, WatchSpec spec, PacketTrigger trigger) {}

  /**
   * The place where a watch is evaluated.
   *
   * @param query ID of a query
   * @param trigger number of the watch's trigger in that query
   */
  public record Place(String query, int trigger) {}

  /** Runs watches as triggers of queries. Thread-safe. */
  public interface Runs {
    /**
     * Compiles watches of one scope.
     *
     * @param watches at least one
     * @param rights rights of the owner
     * @param places returns the prefix of errors about a watch, by its index in the list
     * @return their triggers, in order
     * @throws DrillException if monitors can't run one of them, or can't run it at the moment
     */
    List<PacketTrigger> compile(List<WatchSpec> watches, Rights rights, IntFunction<String> places)
        throws DrillException;

    /**
     * Starts watches, all or none, and reports their alerts. Watches of the same owner, scope and
     * window share queries.
     *
     * @param rights rights of the owner, for all of the watches
     * @param maxQueries maximum number of the owner's queries
     * @return their places, in order
     * @throws DrillException if monitors can't run them, or can't run them at the moment
     */
    List<Place> start(List<Watch> watches, Rights rights, int maxQueries, Listener listener)
        throws DrillException;

    /**
     * Resumes a watch that an earlier server started, and reports its alerts, beginning with those
     * raised before this call. Does nothing if the watch is already followed.
     */
    void follow(Watch watch, Place place, Rights rights, Listener listener);

    /**
     * Begins to read the events of followed watches, and sends monitors the changed sets of
     * triggers. To be called after {@link #follow} for all watches: events of others are dropped,
     * as are their triggers, since a set contains only followed watches.
     */
    void resume();

    /** Returns true if this process follows the watch. */
    boolean follows(Place place);

    /** Returns the packet time from which the watch counts; empty if unknown. */
    OptionalLong countingSinceNs(Place place);

    /** Returns the end of a query; empty while it runs. */
    Optional<End> end(String query);

    /**
     * Stops watches, and queries that no longer evaluate any. Reports no further alerts of these
     * watches.
     */
    void stop(Collection<Place> places);
  }

  /**
   * The earliest time of the next attempt to restart a watch, and the pause after that attempt. The
   * pauses double up to a maximum, since the watch's query may fail each time.
   */
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
   * Manages the watches of a table; starts none before {@link #runIn}.
   *
   * @param ender ends the watch with the given name for the given reason
   */
  MonitorWatches(WatchTable table, Listener listener, BiConsumer<String, String> ender) {
    this.table = table;
    this.listener =
        (alert, id, monitor, replayed) -> {
          if (table.active(alert.getTrigger()) != null) {
            listener.alert(alert, id, monitor, replayed);
          }
        };
    this.ender = ender;
  }

  /**
   * Sets the component that runs watches from now on.
   *
   * @param next the component; null to stop managing watches, which continue to run
   */
  void runIn(Runs next) {
    runs = next;
  }

  /**
   * Starts watches of one owner and scope, all or none.
   *
   * @param maxQueries maximum number of the owner's queries
   * @param places returns the prefix of errors about a watch, by its name
   * @throws DrillException if monitors can't run them, or can't run them at the moment
   */
  void start(List<WatchRecord> watches, int maxQueries, UnaryOperator<String> places)
      throws DrillException {
    Runs now = requireRuns();
    Set<String> names = watches.stream().map(WatchRecord::id).collect(Collectors.toSet());
    starting.addAll(names);
    try {
      Rights rights = rights(watches.get(0));
      List<PacketTrigger> triggers =
          now.compile(
              watches.stream().map(WatchRecord::spec).toList(),
              rights,
              place -> places.apply(watches.get(place).id()));
      List<Watch> compiled = new ArrayList<>();
      for (WatchRecord watch : watches) {
        compiled.add(new Watch(watch.id(), watch.spec(), triggers.get(compiled.size())));
      }
      List<Place> found = now.start(compiled, rights, maxQueries, listener);
      Map<String, Place> placed = new HashMap<>();
      for (int i = 0; i < found.size(); i++) {
        placed.put(compiled.get(i).name(), found.get(i));
      }
      table.updateAll(names, record -> record.by(placed.get(record.id())));
      // Watches may have been removed in the meantime.
      now.stop(
          placed.entrySet().stream()
              .filter(place -> table.active(place.getKey()) == null)
              .map(Map.Entry::getValue)
              .toList());
    } finally {
      starting.removeAll(names);
    }
  }

  private Runs requireRuns() throws DrillException {
    Runs now = runs;
    if (now == null) {
      throw DrillException.unavailable(
          "this server does not run watches in monitors: it captures no packets, or is starting");
    }
    return now;
  }

  private static Rights rights(WatchRecord watch) {
    Scope scope = watch.spec().scope();
    String tenant = watch.owner().isEmpty() ? Rights.DEFAULT_TENANT : watch.owner();
    return new Rights(tenant, scope.isEverything(), scope);
  }

  /** Stops those of the given watches that run in monitors. */
  void stop(Collection<WatchRecord> watches) {
    Runs now = runs;
    List<WatchRecord> running =
        watches.stream().filter(watch -> watch != null && !watch.query().isEmpty()).toList();
    if (now != null && !running.isEmpty()) {
      running.forEach(watch -> retries.remove(watch.id()));
      now.stop(running.stream().map(WatchRecord::place).toList());
    }
  }

  /** Returns the packet time from which a watch counts in a monitor; empty if unknown. */
  OptionalLong countingSinceNs(WatchRecord watch) {
    Runs now = runs;
    return now == null || watch.query().isEmpty()
        ? OptionalLong.empty()
        : now.countingSinceNs(watch.place());
  }

  /**
   * Follows the watches that run, ends those whose queries were stopped, and restarts those whose
   * queries failed or ended with an earlier server.
   */
  void continueAll() {
    Runs now = runs;
    if (now == null) {
      return;
    }
    List<WatchRecord> running = new ArrayList<>();
    List<WatchRecord> ended = new ArrayList<>();
    Map<String, Optional<End>> ends = new HashMap<>();
    for (WatchRecord watch : active()) {
      Optional<End> end = ends.computeIfAbsent(watch.query(), now::end);
      if (end.isEmpty()) {
        if (!now.follows(watch.place())) {
          running.add(watch);
        }
      } else if (runs != now) {
        // The server is stopping its queries.
        return;
      } else if (now.follows(watch.place()) && !end.get().failed()) {
        ender.accept(watch.id(), end.get().reason());
      } else if (isDue(watch)) {
        LOG.info("watch {} starts again: {}", watch.id(), end.get().reason());
        ended.add(watch);
      }
    }
    byRights(running).forEach((rights, watches) -> follow(now, rights, watches));
    now.resume();
    byRights(ended).values().forEach(watches -> restart(now, watches));
  }

  /** Follows watches of one owner and scope. One that can't be compiled does not affect others. */
  private void follow(Runs now, Rights rights, List<WatchRecord> watches) {
    try {
      List<PacketTrigger> triggers =
          now.compile(
              watches.stream().map(WatchRecord::spec).toList(),
              rights,
              place -> watches.get(place).id() + ": ");
      for (int i = 0; i < watches.size(); i++) {
        WatchRecord watch = watches.get(i);
        Watch followed = new Watch(watch.id(), watch.spec(), triggers.get(i));
        now.follow(followed, watch.place(), rights, listener);
      }
    } catch (DrillException e) {
      if (watches.size() == 1 || e.kind() != DrillException.Kind.INVALID) {
        LOG.warn("{} watches are not followed yet: {}", watches.size(), e.getMessage());
      } else {
        int half = watches.size() / 2;
        follow(now, rights, watches.subList(0, half));
        follow(now, rights, watches.subList(half, watches.size()));
      }
    }
  }

  private static Map<Rights, List<WatchRecord>> byRights(List<WatchRecord> watches) {
    return watches.stream()
        .collect(
            Collectors.groupingBy(MonitorWatches::rights, LinkedHashMap::new, Collectors.toList()));
  }

  /**
   * Returns true if a watch may be restarted now; if so, sets the earliest time of the next
   * attempt.
   */
  private boolean isDue(WatchRecord watch) {
    Retry retry = retries.getOrDefault(watch.id(), Retry.FIRST);
    if (isStarting(watch) || System.nanoTime() - retry.atNs() < 0) {
      return false;
    }
    retries.put(watch.id(), retry.next());
    return true;
  }

  /**
   * Returns true if another thread is restarting the watch or has done so in the meantime, or the
   * watch is no longer active.
   */
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

  private void restart(Runs now, List<WatchRecord> watches) {
    now.stop(watches.stream().map(WatchRecord::place).toList());
    try {
      start(watches, Integer.MAX_VALUE, name -> name + ": ");
    } catch (DrillException e) {
      LOG.warn("{} watches do not run: {}", watches.size(), e.getMessage());
    }
  }
}
