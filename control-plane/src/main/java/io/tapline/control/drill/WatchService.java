package io.tapline.control.drill;

import io.tapline.control.access.TokenChecks;
import io.tapline.control.access.TokenFile;
import io.tapline.control.drill.WatchInstaller.InstallResult;
import io.tapline.schema.rpc.NodeAlert;
import io.tapline.schema.rpc.NodeDescription;
import java.io.IOException;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.concurrent.Executors;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.function.IntFunction;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Watches on the hosts' nodes and in monitors. Installs watches on nodes when the watches are added
 * and whenever a node reconnects, and keeps the alerts of nodes and monitors. Thread-safe.
 *
 * <p>On nodes, a watch is named watch_N. When a node reconnects with such watches that this service
 * does not know, they were removed while it was disconnected, so they are removed there, too.
 */
public final class WatchService implements AutoCloseable {
  /** Owner of watches that no tenant owns. */
  public static final String NO_OWNER = "";

  /** Maximum number of alerts per owner; the oldest are dropped. */
  static final int MAX_ALERTS = 1_000;

  private static final Logger LOG = LoggerFactory.getLogger(WatchService.class);

  private static final long RECONNECT_MS = 500;
  private static final long CHECK_MS = 1_000;

  /** Interval, in checks, at which contact times are stored and monitors' watches are checked. */
  private static final int CHECKS_PER_RECORD = 5;

  private final NodeTable nodes;
  private final WatchInstaller installer;
  private final TokenChecks tokens;
  private final ScheduledExecutorService worker =
      Executors.newSingleThreadScheduledExecutor(
          task -> {
            Thread thread = new Thread(task, "watches");
            thread.setDaemon(true);
            return thread;
          });

  private final CombinedWatches together =
      new CombinedWatches(
          (finding, parts, missing) ->
              keep(String.join("+", parts.keySet()), finding, parts, missing));

  private final NodeFeeds feeds =
      new NodeFeeds(
          new NodeFeeds.Listener() {
            @Override
            public void attached(NodeClient node, NodeDescription description, long heardNs) {
              later(() -> reconcile(node, description, heardNs), 0);
            }

            @Override
            public void alert(NodeClient node, NodeAlert alert, String id, boolean replayed) {
              take(node, new Finding(id, alert, replayed));
            }
          },
          task -> later(task, RECONNECT_MS));

  private final WatchTable table = new WatchTable();
  private final MonitorWatches monitors =
      new MonitorWatches(
          table,
          (alert, id, monitor, replayed) ->
              keep(monitor, new Finding(id, alert, replayed), Map.of(), List.of()),
          this::end);
  private final MissedAlerts missed = new MissedAlerts();
  private final AlertLog alerts = new AlertLog(MAX_ALERTS);
  private volatile boolean leads;
  private int checks;

  /** Creates a service. REQUIRES: {@link #lead} is called before any watch is added. */
  WatchService(NodeTable nodes, NodeSelection reach, Optional<TokenFile> tokens) {
    this.nodes = nodes;
    this.installer = new WatchInstaller(nodes, reach);
    this.tokens = new TokenChecks(tokens);
  }

  static long nowNs() {
    return ChronoUnit.NANOS.between(Instant.EPOCH, Instant.now());
  }

  /**
   * Resumes the watches of a store: connects to the existing nodes and stays connected; nodes that
   * appear later are added with {@link #join}. From then on, the nodes keep only this service's
   * watches; no other component may add any.
   *
   * @throws IOException if the watches can't be read
   */
  public void lead(WatchStore store) throws IOException {
    table.load(store);
    feeds.resume(store.lastHeard());
    synchronized (this) {
      alerts.continueAt(store.lastAlert());
    }
    // No node must receive a watch that its token no longer permits.
    endRefused();
    leads = true;
    nodes.all().values().forEach(feeds::attach);
    worker.scheduleWithFixedDelay(this::check, CHECK_MS, CHECK_MS, TimeUnit.MILLISECONDS);
  }

  /**
   * An alert of one node or monitor, or of several nodes together.
   *
   * @param id the alert's ID, which stays the same when the server restarts
   * @param replayed true if an earlier server may have reported it, or, for several nodes together,
   *     another window of the same event
   */
  record Finding(String id, NodeAlert alert, boolean replayed) {}

  /**
   * An alert as kept for its owner.
   *
   * @param number increases by one with each alert
   * @param owner owner of the watch
   * @param ownNumber increases by one with each of the owner's alerts
   * @param node name of the node or monitor; for several nodes together, all of their names
   * @param receivedNs time of arrival here, since the epoch
   * @param parts for an alert of several nodes together, each node's share; empty otherwise
   * @param missing for such an alert, nodes that did not report their share
   */
  public record Alert(
      long number,
      String owner,
      long ownNumber,
      String node,
      Finding finding,
      long receivedNs,
      Map<String, Long> parts,
      List<String> missing) {
    /** Returns the alert's ID, which stays the same when the server restarts. */
    public String id() {
      return finding.id();
    }

    public String watch() {
      return finding.alert().getTrigger();
    }

    public NodeAlert alert() {
      return finding.alert();
    }

    /** Returns true if an earlier server may have reported it or another alert of its event. */
    public boolean replayed() {
      return finding.replayed();
    }
  }

  /** Adds a watch without an owner. */
  public String add(WatchSpec spec) throws DrillException {
    return add(spec, new Holder(NO_OWNER, "", Integer.MAX_VALUE));
  }

  /**
   * The owner of new watches, and the owner's limits.
   *
   * @param tenant owner of the watch
   * @param token hash of the token with which it is added; empty if none is needed
   * @param maxWatches maximum number of the owner's watches
   * @param queries maximum number of the owner's running queries, including those that run watches
   */
  public record Holder(String tenant, String token, int maxWatches, int queries) {
    /** Creates a holder without a maximum of queries, for watches on nodes. */
    public Holder(String tenant, String token, int maxWatches) {
      this(tenant, token, maxWatches, Integer.MAX_VALUE);
    }
  }

  /**
   * Adds a watch: starts it in a monitor, or installs it on the nodes that answer, and on the
   * others when they reconnect.
   *
   * @return name of the watch
   * @throws DrillException if it is invalid, a node or monitor rejects it, there are too many, or
   *     it can't be stored
   */
  public String add(WatchSpec spec, Holder holder) throws DrillException {
    return addChecked(List.of(spec), holder, index -> "").get(0);
  }

  /**
   * Adds all watches, or none of them: if one is rejected, the others are removed again.
   *
   * @return their names, in the same order
   * @throws DrillException if one is invalid, a node or monitor rejects one (the message then
   *     begins with its index in the list), there are too many, or they can't be stored
   */
  public List<String> addAll(List<WatchSpec> specs, Holder holder) throws DrillException {
    return addChecked(specs, holder, WatchService::place);
  }

  private List<String> addChecked(List<WatchSpec> specs, Holder holder, IntFunction<String> place)
      throws DrillException {
    // Detects most errors before any node has a watch.
    for (int i = 0; i < specs.size(); i++) {
      try {
        specs.get(i).check();
        if (!specs.get(i).run().inMonitor()) {
          installer.requireNodes(specs.get(i));
        }
      } catch (DrillException e) {
        throw e.at(place.apply(i));
      }
    }
    List<String> names = table.add(specs, holder.tenant(), holder.token(), holder.maxWatches());
    try {
      for (int i = 0; i < names.size(); i++) {
        if (!specs.get(i).run().inMonitor()) {
          installOnNodes(names.get(i), specs.get(i), place.apply(i));
        }
      }
      List<WatchRecord> inMonitors =
          names.stream().map(table::active).filter(this::isInMonitor).toList();
      if (!inMonitors.isEmpty()) {
        monitors.start(inMonitors, holder.queries(), name -> place.apply(names.indexOf(name)));
      }
      return names;
    } catch (DrillException e) {
      removeAll(names);
      throw e;
    }
  }

  private boolean isInMonitor(WatchRecord watch) {
    return watch != null && watch.spec().run().inMonitor();
  }

  private void installOnNodes(String name, WatchSpec spec, String place) throws DrillException {
    List<NodeClient> defined = new ArrayList<>();
    for (NodeClient node : installer.nodesOf(spec)) {
      try {
        if (installer.install(node, name, spec) != InstallResult.LATER) {
          defined.add(node);
        }
      } catch (DrillException e) {
        throw e.at(place);
      }
    }
    long now = nowNs();
    table.update(
        name,
        watch -> {
          WatchRecord coveredRecord = watch;
          for (NodeClient node : defined) {
            coveredRecord =
                coveredRecord.with(node.name(), Coverage.since(feeds.incarnation(node), now));
          }
          return coveredRecord;
        });
  }

  private static String place(int index) {
    return "watches[%d]: ".formatted(index);
  }

  /**
   * Removes a watch permanently; nodes that do not answer drop it when they reconnect.
   *
   * @throws DrillException if there is none of that name, or the removal can't be stored
   */
  public void remove(String name) throws DrillException {
    if (!table.all().containsKey(name)) {
      throw DrillException.notFound("there is no watch " + name);
    }
    removeAll(List.of(name));
  }

  private void removeAll(List<String> names) throws DrillException {
    Map<String, WatchRecord> previousWatches = table.all();
    List<WatchRecord> removed =
        names.stream().map(previousWatches::get).filter(Objects::nonNull).toList();
    table.removeAll(names);
    monitors.stop(removed);
    removed.stream().filter(watch -> !isInMonitor(watch)).forEach(watch -> clear(watch.id()));
  }

  /** Returns the packet time from which a watch counts in a monitor; empty if unknown. */
  public OptionalLong countingSinceNs(WatchRecord watch) {
    return monitors.countingSinceNs(watch);
  }

  /**
   * Starts running watches in monitors, including those of an earlier server. REQUIRES: the earlier
   * server's queries have been resumed.
   *
   * @param runs the component that runs them; null to stop managing watches, which continue to run
   */
  public void runInMonitors(MonitorWatches.Runs runs) {
    monitors.runIn(runs);
  }

  /** Removes the state of an inactive watch, here and on the nodes. */
  private void clear(String name) {
    together.forget(name);
    missed.forget(name);
    installer.clear(name);
  }

  /** Returns the active watches by name, in the order in which they were added. */
  public Map<String, WatchSpec> list() {
    return table.specs();
  }

  /** Returns all watches by name, including those that this service has ended. */
  public Map<String, WatchRecord> records() {
    return table.all();
  }

  /** Returns the owner of a watch; empty if there is no watch of that name. */
  public Optional<String> ownerOf(String name) {
    return Optional.ofNullable(table.all().get(name)).map(WatchRecord::owner);
  }

  /** Returns the nodes' evaluations of an active watch, ordered by node name. */
  public List<Evaluation> evaluations(WatchRecord watch) {
    return Evaluation.of(watch, installer.nodesOf(watch.spec()), feeds, missed);
  }

  /** Returns the alerts after this number, oldest first. */
  public synchronized List<Alert> alertsAfter(long number) {
    return alerts.after(number);
  }

  /**
   * Returns an owner's alerts after this number, which counts only the owner's alerts, oldest
   * first.
   */
  public synchronized List<Alert> alertsAfter(String owner, long number) {
    return alerts.after(owner, number);
  }

  /** Returns true if this service receives the node's alerts. */
  public boolean hears(String name) {
    NodeClient node = nodes.all().get(name);
    return node != null && feeds.isAttached(node);
  }

  private void later(Runnable task, long delayMs) {
    try {
      worker.schedule(task, delayMs, TimeUnit.MILLISECONDS);
    } catch (RejectedExecutionException e) {
      // The service has been closed.
    }
  }

  private void check() {
    try {
      endRefused();
      checks = (checks + 1) % CHECKS_PER_RECORD;
      if (checks == 0 && !list().isEmpty()) {
        table.putLastHeard(feeds.lastHeard());
        monitors.continueAll();
      }
    } catch (RuntimeException e) {
      LOG.error("watches can't be checked", e);
    }
  }

  /** Ends the watches that their tokens no longer permit. */
  private void endRefused() {
    for (String name : list().keySet()) {
      WatchRecord watch = table.active(name);
      if (watch != null) {
        tokens
            .refusal(watch.token(), watch.owner(), watch.spec().scope())
            .ifPresent(reason -> end(name, reason));
      }
    }
  }

  private void end(String name, String reason) {
    LOG.info("watch {} ends: {}", name, reason);
    WatchRecord ended = table.active(name);
    table.end(name, reason);
    if (ended != null) {
      monitors.stop(List.of(ended));
    }
    if (leads) {
      clear(name);
    }
  }

  private void take(NodeClient node, Finding finding) {
    WatchRecord watch = table.active(finding.alert().getTrigger());
    if (watch == null) {
      return;
    }
    missed.arrived(watch.id(), node.name(), finding.alert().getTriggerNumber());
    if (watch.spec().together()) {
      together.reported(watch.spec(), finding, installer.nodesOf(watch.spec()));
    } else {
      keep(node.name(), finding, Map.of(), List.of());
    }
  }

  /** Returns the number of windows that combined watches will examine again. */
  int pending() {
    return together.pending();
  }

  /**
   * Returns the number of reports for a combined watch that were skipped because there were too
   * many at once.
   */
  public long leftOut(String watch) {
    return together.leftOut(watch);
  }

  private synchronized void keep(
      String node, Finding finding, Map<String, Long> parts, List<String> missing) {
    WatchRecord watch = table.active(finding.alert().getTrigger());
    if (watch != null) {
      alerts.add(watch.owner(), node, finding, parts, missing);
    }
  }

  /**
   * Installs the watches that a node lacks and removes those that it should no longer have: it may
   * have been restarted or disconnected.
   */
  private void reconcile(NodeClient node, NodeDescription description, long heardNs) {
    NodeWatches present = NodeWatches.of(description);
    Map<String, WatchSpec> wanted = list();
    present.names().stream()
        .filter(name -> !wanted.containsKey(name) || !installer.isOn(wanted.get(name), node))
        .forEach(name -> installer.clear(node, name));
    wanted.forEach(
        (name, spec) -> {
          if (!installer.isOn(spec, node)) {
            return;
          }
          if (present.has(name, spec)) {
            installer.shareAnew(node, name, spec, present);
            cover(node, name, description, true, heardNs);
            return;
          }
          InstallResult installed = installer.reinstall(node, name, spec);
          if (installed != InstallResult.LATER) {
            // The description may be older than a watch that was added in the meantime.
            cover(node, name, description, installed == InstallResult.BEFORE, heardNs);
          }
        });
  }

  /** Records whether the node has evaluated a watch since its last contact. */
  private void cover(
      NodeClient node, String name, NodeDescription now, boolean isPresent, long heardNs) {
    table.update(
        name,
        watch -> {
          Coverage previousCoverage = watch.coverage().get(node.name());
          return watch.with(
              node.name(),
              NodeWatches.coverage(watch, previousCoverage, now, isPresent, heardNs, nowNs()));
        });
  }

  /** Attaches to a new node, and reduces the other nodes' shares of thresholds. */
  void join(NodeClient newcomer) {
    if (!leads) {
      return;
    }
    feeds.attach(newcomer);
    later(
        () ->
            list()
                .forEach(
                    (name, spec) ->
                        installer.nodesOf(spec).stream()
                            .filter(node -> node != newcomer && installer.isOn(spec, newcomer))
                            .forEach(
                                node -> installer.shareAnew(node, name, spec, NodeWatches.NONE))),
        0);
  }

  @Override
  public void close() {
    worker.shutdownNow();
  }
}
