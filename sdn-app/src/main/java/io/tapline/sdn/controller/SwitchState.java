package io.tapline.sdn.controller;

import io.tapline.sdn.flow.Cookie;
import io.tapline.sdn.flow.Flow;
import io.tapline.sdn.flow.FlowDifference;
import io.tapline.sdn.flow.FlowKey;
import io.tapline.sdn.flow.ObservedFlow;
import io.tapline.sdn.flow.SwitchMessage;
import io.tapline.sdn.switches.Limits;
import io.tapline.sdn.switches.PortCounters;
import io.tapline.sdn.switches.PortState;
import io.tapline.sdn.switches.SwitchConnection;
import io.tapline.sdn.switches.TokenBucket;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** A switch as the controller knows it. On the controller's thread only. */
final class SwitchState {
  private static final double PORTS_SHARE = 0.1;

  /**
   * How long a switch may still do as before after it has confirmed a change: Open vSwitch's
   * datapath goes by what it has cached until its revalidators have looked it through, and these
   * wait for 500 ms at most before they begin (max-revalidator). Seen: 15 ms on a machine that had
   * more to do than it could.
   */
  private static final long DATAPATH_FOLLOWS_NS = 500_000_000;

  /** A port and since when it is up. */
  static final class Port {
    PortState state;
    long upSinceNs;
    final TokenBucket packetIns;
    PortCounters counters;

    Port(PortState state, double packetInsPerSecond, long nowNs) {
      this.state = state;
      this.upSinceNs = nowNs;
      this.packetIns = new TokenBucket(packetInsPerSecond, nowNs);
    }
  }

  final long datapath;
  final Map<Integer, Port> ports = new HashMap<>();
  final Map<FlowKey, ObservedFlow> observed = new HashMap<>();

  /** What it has, others' flows too: as last read, and what it was told since. */
  private Map<FlowKey, Flow> flows = new HashMap<>();

  /** Null while it is not there. */
  SwitchConnection connection;

  /** Since when its flows are not known, however often it has come since. */
  long unreadSinceNs;

  long goneSinceNs;
  long nextReadNs;
  boolean read;

  /**
   * Whether its flows were read at all since it is known: only then it was told to hand on LLDP.
   */
  boolean everRead;

  boolean asked;
  List<Flow> blocked = List.of();
  String lastError = "";

  /** Its own flows with their counters, read after all that it was told; and when. */
  List<ObservedFlow> counted = List.of();

  long countedNs;

  /** By mirror flow, which change of this switch was its last. */
  private final Map<FlowKey, Long> changed = new HashMap<>();

  private boolean known;
  private int unconfirmed;
  private long confirmedNs = System.nanoTime() - DATAPATH_FOLLOWS_NS;
  private long mods;
  private long modsWhenAsked;

  SwitchState(long datapath) {
    this.datapath = datapath;
  }

  boolean isConnected() {
    return connection != null;
  }

  /** Whether its flows are known. */
  boolean isReady() {
    return connection != null && read;
  }

  Map<FlowKey, Flow> flows() {
    return flows;
  }

  void connected(SwitchConnection to, long nowNs) {
    connection = to;
    if (read || !known) {
      unreadSinceNs = nowNs;
    }
    known = true;
    read = false;
    asked = false;
    unconfirmed = 0;
    lastError = "";
    nextReadNs = nowNs;
  }

  void port(PortState state, Limits limits, long nowNs) {
    Port port = ports.get(state.number());
    if (port == null) {
      port = new Port(state, limits.packetInsPerSecond() * PORTS_SHARE, nowNs);
      ports.put(state.number(), port);
    } else if (state.up() && !port.state.up()) {
      port.upSinceNs = nowNs;
    }
    port.state = state;
  }

  /** Tells it something. REQUIRES: it is connected. */
  void send(List<? extends SwitchMessage> messages) {
    boolean changes = false;
    for (SwitchMessage message : messages) {
      if (message instanceof SwitchMessage.FlowMod mod) {
        FlowDifference.apply(flows, mod);
        mods++;
        noteChange(mod);
        changes = true;
      }
    }
    SwitchConnection to = connection;
    to.send(messages);
    if (changes) {
      unconfirmed++;
      to.afterAll(() -> confirmed(to));
    }
  }

  private void confirmed(SwitchConnection by) {
    if (connection == by) {
      unconfirmed--;
      confirmedNs = System.nanoTime();
    }
  }

  private void noteChange(SwitchMessage.FlowMod mod) {
    Flow flow = mod.flow();
    if (mod.kind() == SwitchMessage.Kind.DELETE) {
      changed.remove(flow.key());
    } else if (Cookie.is(Cookie.Kind.MIRROR, flow.cookie())) {
      changed.put(flow.key(), mods);
    }
  }

  /** Which change of this switch was a mirror flow's last; 0: one that was there before. */
  long lastChange(FlowKey flow) {
    return changed.getOrDefault(flow, 0L);
  }

  void ask() {
    asked = true;
    modsWhenAsked = mods;
    connection.askFlows();
    connection.askPortCounters();
  }

  /**
   * Takes what it says to have.
   *
   * @return whether that is how it is now: it may have been told something since it was asked
   */
  boolean take(List<ObservedFlow> all) {
    asked = false;
    observed.clear();
    all.stream()
        .filter(each -> Cookie.isOurs(each.flow().cookie()))
        .forEach(each -> observed.put(each.flow().key(), each));
    if (mods != modsWhenAsked) {
      return false;
    }
    Map<FlowKey, Flow> now = new HashMap<>();
    all.forEach(each -> now.put(each.flow().key(), each.flow()));
    flows = now;
    counted = List.copyOf(observed.values());
    countedNs = System.nanoTime();
    read = true;
    return true;
  }

  /** Whether it does all that it was told. */
  boolean isConfirmed() {
    return unconfirmed == 0 && System.nanoTime() - confirmedNs >= DATAPATH_FOLLOWS_NS;
  }

  /** Flows of a kind. */
  long count(Cookie.Kind kind) {
    return flows.values().stream().filter(flow -> Cookie.is(kind, flow.cookie())).count();
  }
}
