package io.tapline.control.query;

import io.tapline.compiler.network.NetworkPlan;
import io.tapline.compiler.network.NetworkState;
import io.tapline.compiler.network.Traffic;
import io.tapline.network.Network;
import io.tapline.network.SwitchPorts;
import io.tapline.network.rules.MirrorPlanner;
import io.tapline.network.rules.TooManyRules;
import io.tapline.placement.PlacementException;
import io.tapline.schema.proto.Match;
import io.tapline.schema.proto.Queue;
import io.tapline.schema.proto.Rule;
import io.tapline.sdn.mirror.CopyFormat;
import io.tapline.sdn.mirror.MirrorState;
import io.tapline.sdn.mirror.NetworkAdapter;
import io.tapline.sdn.mirror.NetworkStatus;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Tracks the processes and mirror table entries that running queries use in the inventory's
 * network, and updates the switches if this process controls them. Thread-safe.
 */
final class QueryPlacements {
  private static final Logger LOG = LoggerFactory.getLogger(QueryPlacements.class);

  /** Maximum time that a query waits for switches to be programmed. */
  private static final Duration TIMEOUT = Duration.ofSeconds(5);

  private static final long POLL_MS = 20;

  /** Interval at which late switches are polled after {@link #TIMEOUT}. */
  private static final long LATE_POLL_MS = 1_000;

  private final Optional<Network> network;
  private final Duration timeout;
  private NetworkState state;
  private NetworkAdapter adapter;

  /** Creates placements in this network; without a network, nothing is ever placed. */
  QueryPlacements(Optional<Network> network) {
    this(network, SwitchPorts.NONE, TIMEOUT);
  }

  /** Creates placements in this network, where switches can copy the queues of these ports. */
  QueryPlacements(Optional<Network> network, SwitchPorts ports) {
    this(network, ports, TIMEOUT);
  }

  QueryPlacements(Optional<Network> network, SwitchPorts ports, Duration timeout) {
    this.network = network;
    this.timeout = timeout;
    state = network.map(known -> NetworkState.empty(known, ports)).orElse(null);
  }

  /**
   * Result of placing a query.
   *
   * @param plan empty if there is no network, or no room in it
   * @param refusal reason why there is no room; empty otherwise
   */
  record Outcome(Optional<NetworkPlan> plan, String refusal) {
    static final Outcome NOTHING = new Outcome(Optional.empty(), "");
  }

  /**
   * Places a query alongside the running ones without reserving anything; uses only these hosts, if
   * any are given.
   */
  synchronized Outcome preview(String query, Match match, Optional<Set<String>> hosts) {
    NetworkState previousState = state;
    Outcome outcome = reserve(query, match, hosts);
    state = previousState;
    return outcome;
  }

  /**
   * Places a query and reserves its resources until they are released; uses only these hosts, if
   * any are given.
   */
  synchronized Outcome reserve(String query, Match match, Optional<Set<String>> hosts) {
    if (state == null) {
      return Outcome.NOTHING;
    }
    try {
      state = hosts.map(state::using).orElse(state);
      state = state.add(query, match).after();
      return new Outcome(Optional.of(state.plan(query)), "");
    } catch (PlacementException | TooManyRules e) {
      return new Outcome(
          Optional.empty(), "not placed in the inventory's network: " + e.getMessage());
    }
  }

  /**
   * Result of placing queues.
   *
   * @param queues the queues with their hosts and marks; empty if they can't be placed
   * @param rules the rules for the queues' copies
   * @param refusal reason why they can't be placed; empty otherwise
   */
  record Copies(List<Queue> queues, List<Rule> rules, String refusal) {}

  /** Places queues as {@link #reserveCopies} would, without reserving anything. */
  synchronized Copies previewCopies(String query, List<Queue> queues, Set<String> hosts) {
    NetworkState previousState = state;
    Copies copies = reserveCopies(query, queues, hosts);
    state = previousState;
    return copies;
  }

  /**
   * Reserves rules with which switches copy both sides of each queue to one of these hosts, until
   * the query is released. Queues that are already placed keep their hosts and marks.
   */
  synchronized Copies reserveCopies(String query, List<Queue> queues, Set<String> hosts) {
    if (state == null) {
      return new Copies(List.of(), List.of(), "the inventory has no network");
    }
    try {
      boolean isPlaced = queues.stream().allMatch(queue -> queue.getMark() != 0);
      List<Queue> placedQueues = isPlaced ? queues : state.place(queues, hosts);
      state = state.copy(query, placedQueues).after();
      return new Copies(placedQueues, state.rules(query), "");
    } catch (PlacementException | TooManyRules e) {
      return new Copies(List.of(), List.of(), e.getMessage());
    }
  }

  /**
   * Moves the copies of a query's queues to another host. {@link #mirror} then updates the
   * switches.
   *
   * @param queues queues that switches copy to one host
   * @param free the hosts that may be used
   * @return the queues with their new host and marks; empty if nothing changed because no host sees
   *     both sides of every queue, or switches do not copy every queue
   */
  synchronized Optional<List<Queue>> moveCopies(
      String query, List<Queue> queues, Set<String> free) {
    if (!copiesFor(query) || queues.stream().anyMatch(queue -> queue.getMark() == 0)) {
      return Optional.empty();
    }
    List<Queue> otherQueues = new ArrayList<>(state.copied(query));
    otherQueues.removeAll(queues);
    List<Queue> unplaced =
        queues.stream().map(queue -> queue.toBuilder().clearHost().clearMark().build()).toList();
    Set<String> left = new TreeSet<>(free);
    try {
      while (true) {
        String host = state.place(unplaced.subList(0, 1), left).get(0).getHost();
        Optional<List<Queue>> moved = moveTo(host, query, unplaced, otherQueues);
        if (moved.isPresent()) {
          return moved;
        }
        left.remove(host);
      }
    } catch (PlacementException | TooManyRules e) {
      LOG.warn("no host can measure the queues of {}: {}", query, e.getMessage());
      return Optional.empty();
    }
  }

  private Optional<List<Queue>> moveTo(
      String host, String query, List<Queue> unplaced, List<Queue> otherQueues) {
    try {
      List<Queue> placedQueues = state.place(unplaced, Set.of(host));
      List<Queue> all = new ArrayList<>(otherQueues);
      all.addAll(placedQueues);
      state = state.copy(query, all).after();
      return Optional.of(placedQueues);
    } catch (PlacementException | TooManyRules e) {
      LOG.warn("{} can't measure the queues of {}: {}", host, query, e.getMessage());
      return Optional.empty();
    }
  }

  /**
   * Result of reserving copies of all traffic.
   *
   * @param rules the rules for the copies
   * @param refusal reason why the copies can't be reserved; empty otherwise
   */
  record CollectorRules(List<Rule> rules, String refusal) {}

  /** Checks whether {@link #reserveTraffic} would succeed, without reserving anything. */
  synchronized CollectorRules previewTraffic(String query, Traffic traffic) {
    NetworkState previousState = state;
    CollectorRules collected = reserveTraffic(query, traffic);
    state = previousState;
    return collected;
  }

  /**
   * Reserves rules with which switches copy all their traffic to collectors, until the query is
   * released.
   */
  synchronized CollectorRules reserveTraffic(String query, Traffic traffic) {
    if (state == null) {
      return new CollectorRules(List.of(), "the inventory has no network");
    }
    try {
      state = state.copy(query, traffic).after();
      return new CollectorRules(state.rules(query), "");
    } catch (PlacementException | TooManyRules e) {
      return new CollectorRules(List.of(), e.getMessage());
    }
  }

  /** Returns the format in which switches copy all traffic, if the adapter knows it. */
  synchronized Optional<CopyFormat> copyFormat() {
    return adapter == null ? Optional.empty() : adapter.copyFormat();
  }

  /** Returns the hosts that have a separate port for copies at a switch. */
  synchronized Set<String> monitorsAt(String switchName) {
    return adapter == null ? Set.of() : adapter.monitorsAt(switchName);
  }

  /** Returns true if switches copy queues or all traffic for a query. */
  synchronized boolean copiesFor(String query) {
    return state != null && state.copiesFor(query);
  }

  /** Returns the packets of a query that each host counts; empty if nothing is mirrored. */
  synchronized Optional<Map<String, Match>> parts(String query) {
    return adapter == null ? Optional.empty() : find(query).map(NetworkPlan::parts);
  }

  /**
   * Takes a host out of use: each query on its monitor moves to another monitor that does not run
   * the query yet. Changes nothing if that is impossible. {@link #mirror} then updates the
   * switches.
   *
   * @param up the hosts that may be used
   */
  synchronized void close(String host, Set<String> up) {
    if (state == null || !state.monitorHosts().containsValue(host) || !state.hasHost(host)) {
      return;
    }
    Set<String> others = new TreeSet<>(up);
    others.remove(host);
    try {
      NetworkState newState = state.using(others).close(host).after();
      if (state.queries().stream().allMatch(query -> isOneToOne(query, host, newState))) {
        state = newState;
      }
    } catch (PlacementException | TooManyRules e) {
      LOG.warn("no host can take over from {}: {}", host, e.getMessage());
    }
  }

  private boolean isOneToOne(String query, String host, NetworkState newState) {
    Set<String> were = new TreeSet<>(state.plan(query).parts().keySet());
    Set<String> are = new TreeSet<>(newState.plan(query).parts().keySet());
    return were.size() == are.size() && !are.contains(host);
  }

  /**
   * Narrows a query's mirroring to far ports with this number of zero bits ({@link
   * NetworkState#narrow}). Returns false and changes nothing if switches can't do that or can't
   * confirm it.
   */
  synchronized boolean narrow(String query, int zeros) {
    boolean isKnown = adapter != null && adapter.seesSwitches() && state.queries().contains(query);
    if (!isKnown || !MirrorPlanner.canBeNarrowed(state.plan(query).match())) {
      return false;
    }
    try {
      state = state.narrow(query, zeros).after();
    } catch (TooManyRules e) {
      LOG.warn("can't narrow {}: {}", query, e.getMessage());
      return false;
    }
    mirror();
    return true;
  }

  /** Returns true if switches mirror what the query needs. */
  boolean isMirrored(String query) {
    return missing(query).isEmpty();
  }

  /** Releases the resources of a query; does nothing if it has none. */
  synchronized void release(String query) {
    if (state != null && (state.queries().contains(query) || state.copiesFor(query))) {
      state = state.remove(query).after();
      mirror();
    }
  }

  /** Sets the adapter through which switches mirror what queries need, and updates them. */
  synchronized void mirrorThrough(NetworkAdapter switches) {
    adapter = switches;
    mirror();
  }

  /** Updates the switches to mirror what queries need now. */
  synchronized void mirror() {
    if (state == null || adapter == null) {
      return;
    }
    try {
      adapter.mirror(new MirrorState(state.tables(), state.monitorHosts(), state.marks()));
    } catch (IOException | RuntimeException e) {
      LOG.error("can't program the switches", e);
    }
  }

  Optional<Network> network() {
    return network;
  }

  /** Returns the state of the switches; empty if this process does not control them. */
  Optional<NetworkStatus> switches() {
    NetworkAdapter knownAdapter;
    synchronized (this) {
      knownAdapter = adapter;
    }
    return knownAdapter == null ? Optional.empty() : knownAdapter.seen();
  }

  /**
   * Returns true if switches mirror what queries need; monitors then run where the placement put
   * them.
   */
  synchronized boolean mirrors() {
    return adapter != null;
  }

  /**
   * Updates the switches, and calls {@code onReady} once they mirror what a query needs:
   * immediately if no switch has to change, after a timeout at the latest.
   *
   * @param onMirrored called just before {@code onReady}, or later if the switches take longer
   */
  void mirror(String query, Runnable onReady, Runnable onMirrored) {
    mirror();
    awaitMirrored(query, onReady, onMirrored, System.nanoTime() + timeout.toNanos());
  }

  private void awaitMirrored(String query, Runnable onReady, Runnable onMirrored, long untilNs) {
    List<String> missing = missing(query);
    if (missing.isEmpty()) {
      onMirrored.run();
      onReady.run();
    } else if (System.nanoTime() > untilNs) {
      missing.forEach(source -> LOG.warn("query {} is missing packets: {}", query, source));
      onReady.run();
      awaitLate(query, onMirrored);
    } else {
      CompletableFuture.delayedExecutor(POLL_MS, TimeUnit.MILLISECONDS)
          .execute(() -> awaitMirrored(query, onReady, onMirrored, untilNs));
    }
  }

  /** Polls until no switch lacks the query's rules, or the query has ended. */
  private void awaitLate(String query, Runnable onMirrored) {
    if (missing(query).isEmpty()) {
      onMirrored.run();
    } else {
      CompletableFuture.delayedExecutor(LATE_POLL_MS, TimeUnit.MILLISECONDS)
          .execute(() -> awaitLate(query, onMirrored));
    }
  }

  private synchronized List<String> missing(String query) {
    boolean isKnown = state != null && (state.queries().contains(query) || state.copiesFor(query));
    if (adapter == null || !isKnown) {
      return List.of();
    }
    Set<String> switches = new TreeSet<>();
    state
        .tables()
        .forEach(
            (id, table) -> {
              if (table.rules().stream().anyMatch(rule -> rule.owners().contains(query))) {
                switches.add(id);
              }
            });
    return adapter.report().missing(switches);
  }

  /** Returns the current plan of a placed query; empty if it is not placed. */
  synchronized Optional<NetworkPlan> find(String query) {
    return state != null && state.queries().contains(query)
        ? Optional.of(state.plan(query))
        : Optional.empty();
  }
}
