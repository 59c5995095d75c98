package io.tapline.sdn.controller;

import io.tapline.network.rules.RuleTable;
import io.tapline.sdn.flow.Cookie;
import io.tapline.sdn.flow.Flow;
import io.tapline.sdn.flow.FlowDifference;
import io.tapline.sdn.flow.ObservedFlow;
import io.tapline.sdn.forwarding.BaseFlows;
import io.tapline.sdn.mirror.MirrorCount;
import io.tapline.sdn.mirror.MirrorFlows;
import io.tapline.sdn.mirror.MirrorPort;
import io.tapline.sdn.mirror.MirrorReport;
import io.tapline.sdn.mirror.MirrorState;
import io.tapline.sdn.topology.Host;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.SortedMap;
import java.util.TreeMap;

/**
 * Maintains the first table of each switch: the base flows, which all switches have, and the mirror
 * flows.
 */
final class Mirroring {
  private final NetworkView view;
  private final NetworkMap map;
  private final long epoch;
  private final Map<Long, String> names = new HashMap<>();
  private MirrorState wanted = MirrorState.NOTHING;

  Mirroring(NetworkView view, NetworkMap map, long epoch) {
    this.view = view;
    this.map = map;
    this.epoch = epoch;
    map.datapaths().forEach((name, datapath) -> names.put(datapath, name));
  }

  /** Returns the name in the inventory, or the datapath ID. */
  String name(long datapath) {
    return names.getOrDefault(datapath, "%016x".formatted(datapath));
  }

  void want(MirrorState state) {
    wanted = state;
    view.switches.values().forEach(this::repair);
  }

  /**
   * Repairs a switch's first table.
   *
   * @return true if it needed repair
   */
  boolean repair(SwitchState each) {
    if (!each.isReady()) {
      return false;
    }
    List<Flow> flows = new ArrayList<>(BaseFlows.of(epoch));
    flows.addAll(mirrored(each.datapath).flows());
    List<Flow> has = each.flows().values().stream().filter(flow -> !Forwarder.isOwn(flow)).toList();
    FlowDifference difference = FlowDifference.between(has, flows);
    each.blocked = difference.blocked();
    if (difference.messages().isEmpty()) {
      return false;
    }
    each.send(difference.messages());
    return true;
  }

  private MirrorFlows.Result mirrored(long datapath) {
    String name = name(datapath);
    RuleTable table = wanted.tables().getOrDefault(name, RuleTable.empty());
    Map<String, MirrorPort> ports = new HashMap<>();
    if (!table.rules().isEmpty()) {
      wanted
          .monitors()
          .forEach(
              (monitor, host) ->
                  port(name, datapath, host).ifPresent(port -> ports.put(monitor, port)));
    }
    return MirrorFlows.of(table, ports, epoch);
  }

  private Optional<MirrorPort> port(String name, long datapath, String host) {
    MirrorPort given = map.monitorPorts().getOrDefault(name, Map.of()).get(host);
    if (given != null) {
      return Optional.of(given);
    }
    return map.addresses().getOrDefault(host, List.of()).stream()
        .flatMap(address -> view.hosts.byIp(address).stream())
        .map(Host::at)
        .filter(at -> at.datapath() == datapath)
        .map(at -> MirrorPort.direct(at.port()))
        .findFirst();
  }

  /** Returns the number of packets that flows copied to the hosts of wanted monitors. */
  List<MirrorCount> counts() {
    List<MirrorCount> counts = new ArrayList<>();
    for (SwitchState each : view.switches.values()) {
      if (each.isReady()) {
        counts(each, counts);
      }
    }
    return counts;
  }

  private void counts(SwitchState of, List<MirrorCount> counts) {
    String name = name(of.datapath);
    Map<MirrorPort, String> hosts = new HashMap<>();
    Set<String> wantedHosts = Set.copyOf(wanted.monitors().values());
    wantedHosts.forEach(
        host -> port(name, of.datapath, host).ifPresent(port -> hosts.put(port, host)));
    for (ObservedFlow each : of.counted) {
      Flow flow = each.flow();
      if (Cookie.is(Cookie.Kind.MIRROR, flow.cookie())) {
        Set<String> to = new HashSet<>();
        MirrorPort.of(flow.actions()).stream()
            .map(hosts::get)
            .filter(Objects::nonNull)
            .forEach(to::add);
        String id = "%s %s #%d".formatted(name, flow.key(), of.lastChange(flow.key()));
        counts.add(new MirrorCount(id, to, each.packets(), of.countedNs));
      }
    }
  }

  MirrorReport report() {
    SortedMap<String, Integer> rules = new TreeMap<>();
    SortedMap<String, List<String>> missing = new TreeMap<>();
    for (SwitchState each : view.switches.values()) {
      int count = (int) each.count(Cookie.Kind.MIRROR);
      if (count > 0) {
        rules.put(name(each.datapath), count);
      }
      if (!each.lastError.isEmpty()) {
        missing.put(name(each.datapath), new ArrayList<>(List.of(each.lastError)));
      }
    }
    for (Map.Entry<String, RuleTable> each : wanted.tables().entrySet()) {
      List<String> of = each.getValue().rules().isEmpty() ? List.of() : missing(each.getKey());
      if (!of.isEmpty()) {
        missing.computeIfAbsent(each.getKey(), name -> new ArrayList<>()).addAll(of);
      }
    }
    return new MirrorReport(rules, missing);
  }

  private List<String> missing(String name) {
    Long datapath = map.datapaths().get(name);
    if (datapath == null) {
      return List.of("the inventory has no datapath for it");
    }
    SwitchState state = view.switches.get(datapath);
    if (state == null || !state.isReady()) {
      return List.of("not connected");
    }
    List<String> missing = new ArrayList<>();
    mirrored(datapath).unresolved().forEach(monitor -> missing.add(unknown(monitor)));
    state.blocked.forEach(
        flow -> missing.add("somebody else's flow is where %s should be".formatted(flow)));
    if (!state.isConfirmed()) {
      missing.add("has not confirmed yet");
    }
    return missing;
  }

  private String unknown(String monitor) {
    return "the port of %s (host %s) is not known"
        .formatted(monitor, wanted.monitors().getOrDefault(monitor, "?"));
  }
}
