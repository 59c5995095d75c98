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

/** The controller's state for one switch. Confined to the controller's thread. */
final class SwitchState {
  private static final double PORTS_SHARE = 0.1;

  /**
   * Time for which a switch may still show its old behaviour after it confirmed a change. Open
   * vSwitch's datapath follows its cache until revalidators have checked it, and these wait for up
   * to 500 ms before they begin (max-revalidator). Observed: 15 ms on an overloaded machine.
   */
  static final long DATAPATH_FOLLOWS_NS = 500_000_000;

  /** The controller's state for one port. */
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

  /**
   * The switch's flows, including those of other owners: as last read, with the changes sent since.
   */
  private Map<FlowKey, Flow> flows = new HashMap<>();

  /** Null while the switch is disconnected. */
  SwitchConnection connection;

  /** Time since which flows have been unknown; a reconnect before they are read keeps it. */
  long unreadSinceNs;

  long disconnectedSinceNs;
  long nextReadNs;
  boolean read;

  /** True if the switch's flows were ever read: only then does it get flows for LLDP. */
  boolean everRead;

  boolean requested;
  List<Flow> blocked = List.of();
  String lastError = "";

  /** Tapline's flows with their counters, from the last report that reflected all changes sent. */
  List<ObservedFlow> counted = List.of();

  long countedNs;

  /** The sequence number of each mirror flow's last change on this switch. */
  private final Map<FlowKey, Long> changed = new HashMap<>();

  private boolean known;
  private int unconfirmed;
  private long confirmedNs = System.nanoTime() - DATAPATH_FOLLOWS_NS;
  private long mods;
  private long modsAtRequest;

  SwitchState(long datapath) {
    this.datapath = datapath;
  }

  boolean isConnected() {
    return connection != null;
  }

  /** Returns true if the switch is connected and its flows are known. */
  boolean isReady() {
    return connection != null && read;
  }

  Map<FlowKey, Flow> flows() {
    return flows;
  }

  void connected(SwitchConnection newConnection, long nowNs) {
    connection = newConnection;
    if (read || !known) {
      unreadSinceNs = nowNs;
    }
    known = true;
    read = false;
    requested = false;
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

  /** Sends messages. REQUIRES: the switch is connected. */
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
    SwitchConnection current = connection;
    current.send(messages);
    if (changes) {
      unconfirmed++;
      current.afterAll(() -> confirmed(current));
    }
  }

  private void confirmed(SwitchConnection confirming) {
    if (connection == confirming) {
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

  /**
   * Returns the sequence number of a mirror flow's last change on this switch; 0 if none was sent.
   */
  long lastChange(FlowKey flow) {
    return changed.getOrDefault(flow, 0L);
  }

  void request() {
    requested = true;
    modsAtRequest = mods;
    connection.requestFlows();
    connection.requestPortCounters();
  }

  /**
   * Handles the flows that the switch reports. They replace the known flows if they are current.
   *
   * @return true if they are current; false if changes were sent since they were requested
   */
  boolean take(List<ObservedFlow> all) {
    requested = false;
    observed.clear();
    all.stream()
        .filter(flow -> Cookie.isOurs(flow.flow().cookie()))
        .forEach(flow -> observed.put(flow.flow().key(), flow));
    if (mods != modsAtRequest) {
      return false;
    }
    Map<FlowKey, Flow> now = new HashMap<>();
    all.forEach(flow -> now.put(flow.flow().key(), flow.flow()));
    flows = now;
    counted = List.copyOf(observed.values());
    countedNs = System.nanoTime();
    read = true;
    return true;
  }

  /** Returns true if the switch has confirmed all changes, so long ago that they are in effect. */
  boolean isConfirmed() {
    return unconfirmed == 0 && System.nanoTime() - confirmedNs >= DATAPATH_FOLLOWS_NS;
  }

  /** Returns the number of flows of a kind. */
  long count(Cookie.Kind kind) {
    return flows.values().stream().filter(flow -> Cookie.is(kind, flow.cookie())).count();
  }
}
