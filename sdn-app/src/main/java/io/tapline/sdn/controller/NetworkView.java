package io.tapline.sdn.controller;

import io.tapline.sdn.switches.PortState;
import io.tapline.sdn.switches.SwitchConnection;
import io.tapline.sdn.topology.HostTable;
import io.tapline.sdn.topology.LinkTable;
import io.tapline.sdn.topology.SwitchPort;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;

/** The known switches, links and hosts. Confined to the controller's thread. */
final class NetworkView implements Ports {
  private static final long BITS_PER_MBIT = 1_000_000;
  private static final long MAX_READING_NS = 5_000_000_000L;

  final Map<Long, SwitchState> switches = new TreeMap<>(Long::compareUnsigned);
  final LinkTable links = new LinkTable();
  final HostTable hosts;
  private final ControllerOptions options;
  long nowNs;
  private long lastNewNs;

  NetworkView(ControllerOptions options, long nowNs) {
    this.options = options;
    this.hosts = new HostTable(options.map().switchOfAddress());
    this.nowNs = nowNs;
    this.lastNewNs = nowNs;
  }

  /**
   * Returns true if enough time to discover links has passed since a new switch last connected or
   * was first read.
   */
  boolean isSettled() {
    return nowNs - lastNewNs >= options.settleNs();
  }

  /**
   * Returns true if the flows of all connected switches are known, ignoring switches that did not
   * report them in time.
   */
  boolean isRead() {
    return switches.values().stream()
        .filter(SwitchState::isConnected)
        .allMatch(sw -> sw.isReady() || nowNs - sw.unreadSinceNs > MAX_READING_NS);
  }

  /** Returns true if every switch is connected and has confirmed all messages sent to it. */
  boolean isConfirmed() {
    return switches.values().stream().allMatch(sw -> sw.isReady() && sw.isConfirmed());
  }

  /**
   * Adds a switch that has connected, or reconnected.
   *
   * @return null if it is already connected
   */
  SwitchState arrive(SwitchConnection connection, List<PortState> ports) {
    SwitchState state = switches.get(connection.datapath());
    if (state != null && state.isConnected()) {
      return null;
    }
    if (state == null) {
      state = new SwitchState(connection.datapath());
      switches.put(state.datapath, state);
      lastNewNs = nowNs;
    }
    state.connected(connection, nowNs);
    Set<Integer> present = new HashSet<>();
    for (PortState port : ports) {
      present.add(port.number());
      portChanged(state, port);
    }
    for (SwitchState.Port port : List.copyOf(state.ports.values())) {
      if (!present.contains(port.state.number())) {
        portChanged(state, new PortState(port.state.number(), port.state.name(), false, 0));
      }
    }
    return state;
  }

  /**
   * Records that a switch's flows are known. From then on, the switch gets the flows that link
   * discovery requires.
   */
  void wasRead(SwitchState state) {
    if (!state.everRead) {
      state.everRead = true;
      lastNewNs = nowNs;
    }
  }

  /** Updates a port; returns true if links or hosts were removed with it. */
  boolean portChanged(SwitchState state, PortState port) {
    if (!state.ports.containsKey(port.number())
        && state.ports.size() >= options.limits().maxFlows()) {
      return false;
    }
    state.port(port, options.limits(), nowNs);
    if (port.up()) {
      return false;
    }
    SwitchPort gonePort = new SwitchPort(state.datapath, port.number());
    boolean link = links.forget(gonePort);
    return hosts.forget(gonePort) || link;
  }

  /**
   * Removes silent links, and switches that have been disconnected for a long time; returns true if
   * there were any.
   */
  boolean expire() {
    Set<Long> excused = new HashSet<>();
    boolean hasChanged = false;
    for (SwitchState sw : List.copyOf(switches.values())) {
      if (sw.isConnected()) {
        continue;
      } else if (nowNs - sw.disconnectedSinceNs < options.keepNs()) {
        excused.add(sw.datapath);
      } else {
        switches.remove(sw.datapath);
        links.forget(sw.datapath);
        sw.ports.keySet().forEach(port -> hosts.forget(new SwitchPort(sw.datapath, port)));
        hasChanged = true;
      }
    }
    return links.expire(nowNs, excused) || hasChanged;
  }

  /**
   * Returns true if only hosts can be behind the port. To avoid mistaking an undiscovered link for
   * a host, the port must have been up, and the newest switch known, for as long as links take to
   * settle.
   */
  @Override
  public boolean isEdge(SwitchPort port) {
    SwitchState state = switches.get(port.datapath());
    SwitchState.Port knownPort = state == null ? null : state.ports.get(port.port());
    return knownPort != null
        && knownPort.state.up()
        && state.everRead
        && nowNs - Math.max(knownPort.upSinceNs, lastNewNs) >= options.settleNs()
        && !links.isEnd(port);
  }

  @Override
  public Collection<SwitchPort> edges() {
    List<SwitchPort> edges = new ArrayList<>();
    for (SwitchPort port : up()) {
      if (isEdge(port)) {
        edges.add(port);
      }
    }
    return edges;
  }

  /**
   * Returns the speed of a port's link in bits per second: the inventory's or, if it has none, the
   * switch's.
   *
   * @return 0 if it is unknown
   */
  long linkSpeed(SwitchPort port) {
    SwitchState sw = switches.get(port.datapath());
    SwitchState.Port known = sw == null ? null : sw.ports.get(port.port());
    long given = options.map().linkMbit() * BITS_PER_MBIT;
    return given > 0 || known == null ? given : known.state.bitsPerSecond();
  }

  /** Returns all ports of connected switches that are up. */
  List<SwitchPort> up() {
    List<SwitchPort> up = new ArrayList<>();
    for (SwitchState sw : switches.values()) {
      if (sw.isConnected()) {
        sw.ports.values().stream()
            .filter(port -> port.state.up())
            .forEach(port -> up.add(new SwitchPort(sw.datapath, port.state.number())));
      }
    }
    return up;
  }

  @Override
  public int switches() {
    return switches.size();
  }
}
