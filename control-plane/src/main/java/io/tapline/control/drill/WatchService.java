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
 * Watches on the hosts' nodes: what is wanted is kept here, and put on each node when it is asked
 * for, and again whenever the node comes back. Alerts come by a stream from each node, which is its
 * sign of life, too. Thread-safe.
 *
 * <p>Names on the nodes are watch_N: what of those is on a node and not wanted here is left over
 * from an earlier server, and is removed.
 */
public final class WatchService implements AutoCloseable {
  /** Who has a watch that nobody is said to have. */
  public static final String NOBODY = "";

  /** How many alerts of an owner are kept; the oldest go. */
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

  /** REQUIRES: {@link #lead} is called before anything is watched for. */
  WatchService(NodeTable nodes, Reach reach) {
    this.nodes = nodes;
    this.reach = reach;
  }

  /**
   * Connects to the nodes that there are, and stays connected; others are to be attached. From now
   * on they have the watches of this service, and no others: it is nobody's else to add any.
   */
  public void lead() {
    leads = true;
    nodes.all().values().forEach(this::attach);
  }

  /**
   * An alert of a node.
   *
   * @param number grows by one with each
   * @param owner of the watch
   * @param ownNumber grows by one with each of the owner's
   * @param node its name; of an alert of several together all of their names
   * @param receivedNs when it came here, since the epoch
   * @param parts of an alert of several together, what each has; empty otherwise
   * @param missing of such a one, nodes that did not say what they have
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

  /** A watch of nobody in particular. */
  public String add(WatchSpec spec) throws DrillException {
    return add(spec, NOBODY, Integer.MAX_VALUE);
  }

  /**
   * Puts a watch on the nodes that answer; on the others when they come back.
   *
   * @param owner whose it is
   * @param most watches that he may have
   * @return its name
   * @throws DrillException if a node does not take it, or there are too many
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
   * As nobody's was before: a node may still have the watches of the control plane that led before,
   * whose alerts are not for those who ask this one.
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

  /** A node that can't be reached now will be told when it comes back. */
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
   * Takes a watch back from all nodes that answer, and from the others when they come back.
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
      // It has none, or will be told when it comes back.
    }
  }

  /** What is watched, by name, in the order of adding. */
  public synchronized Map<String, WatchSpec> list() {
    return new LinkedHashMap<>(watches);
  }

  /** Whose a watch is; nothing if there is none of that name. */
  public synchronized Optional<String> ownerOf(String name) {
    return Optional.ofNullable(owners.get(name));
  }

  /** Alerts behind that number, the oldest first. */
  public synchronized List<Alert> alertsAfter(long number) {
    return alerts.after(number);
  }

  /** An owner's alerts behind that number of his, the oldest first. */
  public synchronized List<Alert> alertsAfter(String owner, long number) {
    return alerts.after(owner, number);
  }

  /** Until it is lost. */
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

  /** Whether alerts of the node come here. */
  public boolean hears(String name) {
    NodeClient node = nodes.all().get(name);
    return node != null && attached.contains(node);
  }

  private void later(Runnable task, long delayMs) {
    try {
      worker.schedule(task, delayMs, TimeUnit.MILLISECONDS);
    } catch (RejectedExecutionException closed) {
      // Nobody waits for it any more.
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

  /** Windows of watches over all nodes together that will be asked for once more. */
  int pending() {
    return together.pending();
  }

  /** Reports for such a watch that were too many at once to be looked into. */
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

  /** A node that started anew has none of them; one that was away may have too many. */
  private void reconcile(NodeClient node, NodeDescription description) {
    List<String> present = new ArrayList<>();
    for (Definition definition : description.getDefinitionsList()) {
      switch (definition.getKindCase()) {
        case FILTER -> present.add(definition.getFilter().getName());
        case AGGREGATE -> present.add(definition.getAggregate().getName());
        default -> {
          // Triggers have their aggregate's name.
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
      // Another version of the node: the others have taken it.
    }
  }

  /** Its share of a threshold may have been one of fewer nodes; what it has counted stays. */
  private void shareAnew(NodeClient node, String name, WatchSpec spec) {
    if (spec.together()) {
      remove(node, RemoveRequest.newBuilder().setTrigger(name).build());
      defineAgain(node, name, spec);
    }
  }

  /** A node that was not there before, by which the others' shares become smaller. */
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
