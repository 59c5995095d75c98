package io.tapline.sdn.controller;

import io.tapline.sdn.flow.Cookie;
import io.tapline.sdn.flow.Flow;
import io.tapline.sdn.flow.SwitchMessage.FlowMod;
import io.tapline.sdn.forwarding.Rollout;
import io.tapline.sdn.forwarding.Trees;
import io.tapline.sdn.mirror.MirrorFlows;
import io.tapline.sdn.switches.Counter;
import io.tapline.sdn.switches.Counters;
import io.tapline.sdn.switches.SwitchConnection;
import io.tapline.sdn.topology.HostTable;
import io.tapline.sdn.topology.LinkTable;
import java.util.ArrayDeque;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.Set;

/** Keeps forwarding consistent with the trees: rolls out one change at a time, in rounds. */
final class Forwarder {
  private static final long ROUND_NS = 5_000_000_000L;

  private final Map<Long, SwitchState> switches;
  private final LinkTable links;
  private final HostTable hosts;
  private final Counters counters;
  private final RouteAnnouncements routes;
  private final long epoch;
  private Queue<Map<Long, List<FlowMod>>> rounds = new ArrayDeque<>();
  private Trees trees = Trees.of(List.of(), List.of());
  private int round;

  /** Switches that have not completed the current round yet. */
  private final Set<SwitchConnection> waiting = new HashSet<>();

  /**
   * Switches that did not complete a round in time. Until they have caught up, other switches do
   * not wait for them.
   */
  private final Set<SwitchConnection> late = new HashSet<>();

  private long roundBeganNs;
  private boolean stale = true;

  Forwarder(
      Map<Long, SwitchState> switches,
      LinkTable links,
      HostTable hosts,
      Counters counters,
      RouteAnnouncements routes,
      long epoch) {
    this.switches = switches;
    this.links = links;
    this.hosts = hosts;
    this.counters = counters;
    this.routes = routes;
    this.epoch = epoch;
  }

  /** Records that links, hosts or a switch's flows have changed. */
  void changed() {
    stale = true;
  }

  boolean isUpToDate() {
    return !stale && isIdle() && routes.areSettled();
  }

  private boolean isIdle() {
    return rounds.isEmpty() && waiting.isEmpty();
  }

  Trees trees() {
    return trees;
  }

  /** Continues the current change, or starts the next if one is needed. */
  void advance(long nowNs) {
    if (!waiting.isEmpty() && nowNs - roundBeganNs > ROUND_NS) {
      counters.add(Counter.BARRIER_TIMEOUTS, waiting.size());
      late.addAll(waiting);
      waiting.clear();
    }
    if (isIdle() && stale) {
      stale = false;
      trees = Trees.of(links.links(), hosts.hosts());
      Map<Long, Collection<Flow>> actual = forwarding();
      rounds = new ArrayDeque<>(Rollout.rounds(actual, trees, epoch));
      routes.announceChanges(trees, actual.keySet(), rounds, nowNs);
    }
    if (!routes.areConfirmed(nowNs)) {
      return;
    }
    while (waiting.isEmpty() && !rounds.isEmpty()) {
      begin(rounds.remove(), nowNs);
    }
    if (isIdle()) {
      routes.announceResult(trees, confirmed());
    }
  }

  /** Returns the switches that have confirmed all rounds. REQUIRES: no round is in progress. */
  private Set<Long> confirmed() {
    Set<Long> confirmed = new HashSet<>();
    for (SwitchState sw : switches.values()) {
      if (sw.isReady() && !late.contains(sw.connection)) {
        confirmed.add(sw.datapath);
      }
    }
    return confirmed;
  }

  private Map<Long, Collection<Flow>> forwarding() {
    Map<Long, Collection<Flow>> flows = new HashMap<>();
    for (SwitchState sw : switches.values()) {
      if (sw.isReady()) {
        flows.put(sw.datapath, sw.flows().values().stream().filter(Forwarder::isOwn).toList());
      }
    }
    return flows;
  }

  /**
   * Returns true for Tapline's forwarding flows, and for other owners' flows in the forwarding
   * table.
   */
  static boolean isOwn(Flow flow) {
    return Cookie.isOurs(flow.cookie())
        ? Cookie.is(Cookie.Kind.FORWARD, flow.cookie())
        : flow.table() == MirrorFlows.FORWARDING_TABLE;
  }

  private void begin(Map<Long, List<FlowMod>> mods, long nowNs) {
    int number = ++round;
    roundBeganNs = nowNs;
    List<SwitchState> recipients =
        mods.keySet().stream().map(switches::get).filter(s -> s != null && s.isReady()).toList();
    for (SwitchState sw : recipients) {
      if (!late.contains(sw.connection)) {
        waiting.add(sw.connection);
      }
    }
    for (SwitchState sw : recipients) {
      sw.send(mods.get(sw.datapath));
      SwitchConnection target = sw.connection;
      target.afterAll(() -> done(target, number));
    }
  }

  private void done(SwitchConnection connection, int number) {
    if (late.remove(connection)) {
      routes.outdated();
    }
    if (number == round) {
      waiting.remove(connection);
    }
  }
}
