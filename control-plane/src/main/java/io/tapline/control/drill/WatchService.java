package io.tapline.control.drill;

import com.google.common.util.concurrent.ListenableFuture;
import io.grpc.Status;
import io.grpc.Status.Code;
import io.grpc.StatusRuntimeException;
import io.grpc.stub.StreamObserver;
import io.tapline.control.drill.DrillException.Kind;
import io.tapline.schema.rpc.DefineReply;
import io.tapline.schema.rpc.Definition;
import io.tapline.schema.rpc.NodeAlert;
import io.tapline.schema.rpc.NodeDescription;
import io.tapline.schema.rpc.NodeEvent;
import io.tapline.schema.rpc.RemoveRequest;
import java.security.SecureRandom;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Executors;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.regex.Pattern;

/**
 * Watches on the hosts' nodes: this service keeps the definitions, and installs them on each node
 * when they are added and whenever the node reconnects. Alerts arrive through a stream from each
 * node, which also serves as its keep-alive. Thread-safe.
 *
 * <p>Names on the nodes are watch_N: watches that this service does not know were left by an
 * earlier server, and are removed.
 */
public final class WatchService implements AutoCloseable {
  /** Owner of watches that no tenant owns. */
  public static final String NOBODY = "";

  /** Maximum number of alerts per owner; the oldest are dropped. */
  static final int MOST_ALERTS = 1_000;

  private static final int MOST_WATCHES = 100;
  private static final long MOST_NUMBER = 999_999_999_999L;
  private static final int HEARTBEAT_MS = 1_000;
  private static final long RECONNECT_MS = 500;
  private static final Pattern OURS = Pattern.compile("watch_\\d+(_filter|_seq)?");

  private final NodeTable nodes;
  private final Reach reach;
  private final ScheduledExecutorService worker =
      Executors.newSingleThreadScheduledExecutor(
          task -> {
            Thread thread = new Thread(task, "watches");
            thread.setDaemon(true);
            return thread;
          });

  private final TogetherWatches together =
      new TogetherWatches(
          (alert, parts, missing) -> keep(String.join("+", parts.keySet()), alert, parts, missing));

  private final Set<NodeClient> attached = ConcurrentHashMap.newKeySet();
  private final Map<String, WatchSpec> watches = new LinkedHashMap<>();
  private final Map<String, String> owners = new HashMap<>();
  private final AlertLog alerts = new AlertLog(MOST_ALERTS);
  private final SecureRandom numbers = new SecureRandom();
  private volatile boolean leads;

  /** REQUIRES: {@link #lead} is called before any watch is added. */
  WatchService(NodeTable nodes, Reach reach) {
    this.nodes = nodes;
    this.reach = reach;
  }

  /**
   * Connects to the existing nodes and stays connected; others have to be attached. Afterwards they
   * have exactly the watches of this service: no other component may add any.
   */
  public void lead() {
    leads = true;
    nodes.all().values().forEach(this::attach);
  }

  /**
   * An alert of a node.
   *
   * @param number increases by one with each alert
   * @param owner owner of the watch
   * @param ownNumber increases by one with each of the owner's alerts
   * @param node name of the node; for an alert of several together, all of their names
   * @param receivedNs time of arrival here, since the epoch
   * @param parts for an alert of several together, each node's share; empty otherwise
   * @param missing for such an alert, nodes that did not report their share
   */
  public record Alert(
      long number,
      String owner,
      long ownNumber,
      String watch,
      String node,
      NodeAlert alert,
      long receivedNs,
      Map<String, Long> parts,
      List<String> missing) {}

  /** Adds a watch without an owner. */
  public String add(WatchSpec spec) throws DrillException {
    return add(spec, NOBODY, Integer.MAX_VALUE);
  }

  /**
   * Installs a watch on the nodes that answer, and on the others when they reconnect.
   *
   * @param owner owner of the watch
   * @param most maximum number of the owner's watches
   * @return its name
   * @throws DrillException if a node rejects it, or there are too many
   */
  public String add(WatchSpec spec, String owner, int most) throws DrillException {
    spec.check();
    String name;
    synchronized (this) {
      Map<String, NodeClient> known = reach.within(spec.scope(), nodes.all());
      for (String node : spec.nodes()) {
        if (!known.containsKey(node)) {
          throw new DrillException(
              Kind.NOT_FOUND, "there is no node " + node + "; known: " + known.keySet());
        }
      }
      if (known.isEmpty()) {
        throw DrillException.noNodes();
      }
      if (owners.values().stream().filter(owner::equals).count() >= most) {
        throw new DrillException(
            Kind.TOO_MANY, "%d watches of %s are as many as there can be".formatted(most, owner));
      }
      if (watches.size() == MOST_WATCHES) {
        throw new DrillException(
            Kind.BUSY, MOST_WATCHES + " watches are as many as there can be: remove one");
      }
      name = newName();
      watches.put(name, spec);
      owners.put(name, owner);
    }
    try {
      for (NodeClient node : nodes.all().values()) {
        if (isOn(spec, node)) {
          define(node, name, spec);
        }
      }
      return name;
    } catch (DrillException e) {
      remove(name);
      throw e;
    }
  }

  /**
   * Adds all watches, or none of them: if one is rejected, those before it are removed again.
   *
   * @param owner owner of the watches
   * @param most maximum number of the owner's watches
   * @return their names, in the same order
   * @throws DrillException if one is invalid, a node rejects one, or there are too many; the
   *     message has its place in the list
   */
  public List<String> addAll(List<WatchSpec> specs, String owner, int most) throws DrillException {
    // Most errors show before any node has one.
    for (int i = 0; i < specs.size(); i++) {
      try {
        specs.get(i).check();
      } catch (DrillException e) {
        throw e.at(place(i));
      }
    }
    List<String> names = new ArrayList<>();
    for (WatchSpec spec : specs) {
      try {
        names.add(add(spec, owner, most));
      } catch (DrillException e) {
        for (String name : names) {
          remove(name);
        }
        throw e.at(place(names.size()));
      }
    }
    return names;
  }

  private static String place(int index) {
    return "watches[%d]: ".formatted(index);
  }

  /**
   * Returns a name that was never used: a node may still have the watches of the previous leader,
   * whose alerts are not meant for this one's clients.
   */
  private String newName() {
    String name;
    do {
      name = "watch_" + (1 + numbers.nextLong(MOST_NUMBER));
    } while (watches.containsKey(name));
    return name;
  }

  private List<NodeClient> on(WatchSpec spec) {
    return nodes.all().values().stream().filter(node -> isOn(spec, node)).toList();
  }

  private boolean isOn(WatchSpec spec, NodeClient node) {
    return (spec.nodes().isEmpty() || spec.nodes().contains(node.name()))
        && !reach.within(spec.scope(), Map.of(node.name(), node)).isEmpty();
  }

  /** A node that can't be reached now receives the watch when it reconnects. */
  private void define(NodeClient node, String name, WatchSpec spec) throws DrillException {
    for (Definition definition : spec.definitions(name, on(spec).size())) {
      try {
        ListenableFuture<DefineReply> reply = node.define(definition, Snapshots.PATIENCE);
        Snapshots.result(reply);
      } catch (StatusRuntimeException e) {
        Code code = e.getStatus().getCode();
        if (code == Code.INVALID_ARGUMENT || code == Code.RESOURCE_EXHAUSTED) {
          throw new DrillException(
              Kind.INVALID, "node " + node.name() + ": " + e.getStatus().getDescription());
        }
        if (code != Code.ALREADY_EXISTS) {
          return;
        }
      }
    }
  }

  /**
   * Removes a watch from all nodes that answer, and from the others when they reconnect.
   *
   * @throws DrillException if there is none of that name
   */
  public void remove(String name) throws DrillException {
    synchronized (this) {
      if (watches.remove(name) == null) {
        throw new DrillException(Kind.NOT_FOUND, "there is no watch " + name);
      }
      owners.remove(name);
      together.forget(name);
    }
    nodes
        .all()
        .values()
        .forEach(node -> WatchSpec.removals(name).forEach(each -> remove(node, each)));
  }

  private static void remove(NodeClient node, RemoveRequest request) {
    try {
      Snapshots.result(node.remove(request, Snapshots.PATIENCE));
    } catch (StatusRuntimeException e) {
      // The node has no such watch, or will be updated when it reconnects.
    }
  }

  /** Returns the watches by name, in the order in which they were added. */
  public synchronized Map<String, WatchSpec> list() {
    return new LinkedHashMap<>(watches);
  }

  /** Returns the owner of a watch; nothing if there is none of that name. */
  public synchronized Optional<String> ownerOf(String name) {
    return Optional.ofNullable(owners.get(name));
  }

  /** Returns the alerts after this number, oldest first. */
  public synchronized List<Alert> alertsAfter(long number) {
    return alerts.after(number);
  }

  /** Returns an owner's alerts after this number of the owner's, oldest first. */
  public synchronized List<Alert> alertsAfter(String owner, long number) {
    return alerts.after(owner, number);
  }

  /** Stays attached until the node is lost. */
  private void attach(NodeClient node) {
    if (node.isLost()) {
      return;
    }
    node.attach(
        HEARTBEAT_MS,
        new StreamObserver<>() {
          @Override
          public void onNext(NodeEvent event) {
            if (event.hasDescription()) {
              attached.add(node);
              later(() -> reconcile(node, event.getDescription()), 0);
            } else if (event.hasAlert()) {
              take(node, event.getAlert());
            }
          }

          @Override
          public void onError(Throwable t) {
            attached.remove(node);
            if (Status.fromThrowable(t).getCode() != Code.CANCELLED) {
              later(() -> attach(node), RECONNECT_MS);
            }
          }

          @Override
          public void onCompleted() {
            attached.remove(node);
            later(() -> attach(node), RECONNECT_MS);
          }
        });
  }

  /** Returns true if this service receives the node's alerts. */
  public boolean hears(String name) {
    NodeClient node = nodes.all().get(name);
    return node != null && attached.contains(node);
  }

  private void later(Runnable task, long delayMs) {
    try {
      worker.schedule(task, delayMs, TimeUnit.MILLISECONDS);
    } catch (RejectedExecutionException closed) {
      // The caller no longer waits for it.
    }
  }

  private void take(NodeClient node, NodeAlert alert) {
    WatchSpec spec = list().get(alert.getTrigger());
    if (spec != null && spec.together()) {
      together.reported(spec, alert, on(spec));
    } else {
      keep(node.name(), alert, Map.of(), List.of());
    }
  }

  /** Returns the number of windows of watches over all nodes that will be examined again. */
  int pending() {
    return together.pending();
  }

  /**
   * Returns the number of reports for such a watch that were skipped because there were too many at
   * once.
   */
  public long leftOut(String watch) {
    return together.leftOut(watch);
  }

  private synchronized void keep(
      String node, NodeAlert alert, Map<String, Long> parts, List<String> missing) {
    String owner = owners.get(alert.getTrigger());
    if (owner != null) {
      alerts.add(owner, node, alert, parts, missing);
    }
  }

  /** A restarted node has no watches; a node that was disconnected may have too many. */
  private void reconcile(NodeClient node, NodeDescription description) {
    List<String> present = new ArrayList<>();
    for (Definition definition : description.getDefinitionsList()) {
      switch (definition.getKindCase()) {
        case FILTER -> present.add(definition.getFilter().getName());
        case AGGREGATE -> present.add(definition.getAggregate().getName());
        default -> {
          // Triggers are named like their aggregate.
        }
      }
    }
    Map<String, WatchSpec> wanted = list();
    present.stream()
        .filter(name -> OURS.matcher(name).matches())
        .map(name -> name.replaceFirst("_(filter|seq)$", ""))
        .distinct()
        .filter(name -> !wanted.containsKey(name) || !isOn(wanted.get(name), node))
        .forEach(name -> WatchSpec.removals(name).forEach(each -> remove(node, each)));
    wanted.forEach(
        (name, spec) -> {
          if (isOn(spec, node) && present.contains(name)) {
            shareAnew(node, name, spec);
          } else if (isOn(spec, node)) {
            defineAgain(node, name, spec);
          }
        });
  }

  private void defineAgain(NodeClient node, String name, WatchSpec spec) {
    try {
      define(node, name, spec);
    } catch (DrillException e) {
      // The node has another version; the others have accepted the watch.
    }
  }

  /**
   * Updates the node's share of a threshold, which may date from a smaller number of nodes; its
   * counts stay.
   */
  private void shareAnew(NodeClient node, String name, WatchSpec spec) {
    if (spec.together()) {
      remove(node, RemoveRequest.newBuilder().setTrigger(name).build());
      defineAgain(node, name, spec);
    }
  }

  /** A new node makes the other nodes' shares smaller. */
  void join(NodeClient newcomer) {
    if (!leads) {
      return;
    }
    attach(newcomer);
    later(
        () ->
            list()
                .forEach(
                    (name, spec) ->
                        on(spec).stream()
                            .filter(node -> node != newcomer && isOn(spec, newcomer))
                            .forEach(node -> shareAnew(node, name, spec))),
        0);
  }

  @Override
  public void close() {
    worker.shutdownNow();
  }
}
