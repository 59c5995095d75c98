package io.tapline.sdn.controller;

import io.tapline.network.rules.CopyMark;
import io.tapline.network.rules.RuleTable;
import io.tapline.sdn.flow.Cookie;
import io.tapline.sdn.flow.Flow;
import io.tapline.sdn.flow.FlowDifference;
import io.tapline.sdn.flow.ObservedFlow;
import io.tapline.sdn.forwarding.BaseFlows;
import io.tapline.sdn.forwarding.Trees;
import io.tapline.sdn.mirror.MirrorCount;
import io.tapline.sdn.mirror.MirrorFlows;
import io.tapline.sdn.mirror.MirrorPort;
import io.tapline.sdn.mirror.MirrorReport;
import io.tapline.sdn.mirror.MirrorState;
import io.tapline.sdn.topology.Host;
import io.tapline.sdn.topology.SwitchPort;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.function.Supplier;
import java.util.stream.Stream;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Maintains the first table of each switch: the base flows, which all switches have, and the mirror
 * flows.
 */
final class Mirroring {
  private static final Logger LOG = LoggerFactory.getLogger(Mirroring.class);

  private final NetworkView view;
  private final NetworkMap map;
  private final long epoch;
  private final Supplier<Trees> trees;
  private final Map<Long, String> names = new HashMap<>();
  private final Set<String> sharedQueues = new HashSet<>();
  private MirrorState wanted = MirrorState.NOTHING;

  Mirroring(NetworkView view, NetworkMap map, Supplier<Trees> trees, long epoch) {
    this.view = view;
    this.trees = trees;
    this.map = map;
    this.epoch = epoch;
    map.datapaths().forEach((name, datapath) -> names.put(datapath, name));
  }

  /** Returns a switch's name in the inventory or, if it has none, its datapath ID. */
  String name(long datapath) {
    return names.getOrDefault(datapath, "%016x".formatted(datapath));
  }

  void want(MirrorState state) {
    wanted = state;
    logSharedQueues();
    view.switches.values().forEach(this::repair);
  }

  /** Logs, once each, the switches that copy all traffic to a port without a preferred queue. */
  private void logSharedQueues() {
    Set<String> shared = new TreeSet<>();
    wanted.marks().entrySet().stream()
        .filter(entry -> CopyMark.isPorts(entry.getValue()))
        .forEach(
            entry -> {
              String host = wanted.monitors().get(entry.getKey());
              origins(entry.getKey())
                  .filter(datapath -> port(name(datapath), datapath, host).isPresent())
                  .filter(datapath -> port(name(datapath), datapath, host).get().queue() == 0)
                  .forEach(datapath -> shared.add(name(datapath)));
            });
    shared.removeAll(sharedQueues);
    sharedQueues.addAll(shared);
    if (!shared.isEmpty()) {
      LOG.info(
          "copies of SYN, FIN and RST share the queue of all others at {}: to prefer them, give the"
              + " mirror ports a second queue and name it in the inventory (monitor_ports)",
          String.join(", ", shared));
    }
  }

  /**
   * Repairs a switch's first table.
   *
   * @return true if it needed repair
   */
  boolean repair(SwitchState sw) {
    if (!sw.isReady()) {
      return false;
    }
    List<Flow> flows = new ArrayList<>(BaseFlows.of(epoch));
    flows.addAll(mirrored(sw.datapath).flows());
    List<Flow> has = sw.flows().values().stream().filter(flow -> !Forwarder.isOwn(flow)).toList();
    FlowDifference difference = FlowDifference.between(has, flows);
    sw.blocked = difference.blocked();
    if (difference.messages().isEmpty()) {
      return false;
    }
    sw.send(difference.messages());
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
              (monitor, host) -> port(datapath, monitor).ifPresent(p -> ports.put(monitor, p)));
    }
    MirrorFlows.Result own =
        MirrorFlows.of(table, ports, new KnownPorts(datapath, map, view, trees.get()), epoch);
    List<Flow> flows = new ArrayList<>(own.flows());
    transits(datapath).forEach(port -> flows.add(MirrorFlows.transit(port, epoch)));
    return new MirrorFlows.Result(flows, own.unresolved(), own.unknownPorts());
  }

  /**
   * Returns the port for a monitor's copies, and their mark, if any. Only marked copies can cross
   * other switches. Copies of all traffic are not marked if {@link NetworkMap#marksPorts} is false.
   */
  private Optional<MirrorPort> port(long datapath, String monitor) {
    String host = wanted.monitors().get(monitor);
    Optional<MirrorPort> direct = port(name(datapath), datapath, host);
    Long mark = wanted.marks().get(monitor);
    if (mark == null || CopyMark.isPorts(mark) && !map.marksPorts()) {
      return direct;
    }
    return direct
        .or(
            () ->
                route(datapath, host).stream()
                    .findFirst()
                    .map(hop -> MirrorPort.direct(hop.port())))
        .map(port -> port.marked(mark));
  }

  private List<SwitchPort> route(long datapath, String host) {
    return map.addresses().getOrDefault(host, List.of()).stream()
        .flatMap(address -> view.hosts.byIp(address).stream())
        .map(hop -> trees.get().route(datapath, hop.mac()))
        .findFirst()
        .orElse(List.of());
  }

  /** Returns the ports for marked copies that other switches send through this one. */
  private Collection<MirrorPort> transits(long datapath) {
    Map<Long, MirrorPort> ports = new TreeMap<>();
    wanted
        .marks()
        .forEach(
            (monitor, mark) -> {
              if (origins(monitor).anyMatch(origin -> crosses(origin, datapath, monitor))) {
                port(datapath, monitor).ifPresent(port -> ports.put(mark, port));
              }
            });
    return ports.values();
  }

  /** Returns the switches that make copies for a monitor. */
  private Stream<Long> origins(String monitor) {
    return wanted.tables().entrySet().stream()
        .filter(
            entry ->
                entry.getValue().rules().stream().anyMatch(r -> r.monitors().contains(monitor)))
        .map(entry -> map.datapaths().get(entry.getKey()))
        .filter(Objects::nonNull);
  }

  private boolean crosses(long source, long through, String monitor) {
    String host = wanted.monitors().get(monitor);
    return source != through
        && port(name(source), source, host).isEmpty()
        && route(source, host).stream().anyMatch(hop -> hop.datapath() == through);
  }

  private Optional<MirrorPort> port(String name, long datapath, String host) {
    MirrorPort configured = map.monitorPorts().getOrDefault(name, Map.of()).get(host);
    if (configured != null) {
      return Optional.of(configured);
    }
    return map.addresses().getOrDefault(host, List.of()).stream()
        .flatMap(address -> view.hosts.byIp(address).stream())
        .map(Host::at)
        .filter(hop -> hop.datapath() == datapath)
        .map(hop -> MirrorPort.direct(hop.port()))
        .findFirst();
  }

  /** Returns the number of packets that each flow has copied to the hosts of wanted monitors. */
  List<MirrorCount> counts() {
    List<MirrorCount> counts = new ArrayList<>();
    for (SwitchState sw : view.switches.values()) {
      if (sw.isReady()) {
        counts(sw, counts);
      }
    }
    return counts;
  }

  private void counts(SwitchState sw, List<MirrorCount> counts) {
    String name = name(sw.datapath);
    Map<MirrorPort, String> hosts = new HashMap<>();
    Set<String> wantedHosts = Set.copyOf(wanted.monitors().values());
    wantedHosts.forEach(
        host -> port(name, sw.datapath, host).ifPresent(port -> hosts.put(port.place(), host)));
    Map<Long, String> marked = new HashMap<>();
    wanted.marks().entrySet().stream()
        .filter(entry -> CopyMark.isMark(entry.getValue()))
        .forEach(entry -> marked.put(entry.getValue(), wanted.monitors().get(entry.getKey())));
    for (ObservedFlow observedFlow : sw.counted) {
      Flow flow = observedFlow.flow();
      // Copies are counted by the switch that makes them, not by those on their path.
      boolean copies =
          Cookie.is(Cookie.Kind.MIRROR, flow.cookie()) && !CopyMark.isMark(flow.match().ethDst());
      if (copies) {
        String id = "%s %s #%d".formatted(name, flow.key(), sw.lastChange(flow.key()));
        List<String> targets =
            MirrorPort.of(flow.actions()).stream()
                .map(port -> marked.getOrDefault(port.mark(), hosts.get(port.place())))
                .filter(Objects::nonNull)
                .toList();
        counts.addAll(MirrorCount.of(id, targets, observedFlow.packets(), sw.countedNs));
      }
    }
  }

  MirrorReport report() {
    SortedMap<String, Integer> rules = new TreeMap<>();
    SortedMap<String, List<String>> missing = new TreeMap<>();
    for (SwitchState sw : view.switches.values()) {
      int count = (int) sw.count(Cookie.Kind.MIRROR);
      if (count > 0) {
        rules.put(name(sw.datapath), count);
      }
      if (!sw.lastError.isEmpty()) {
        missing.put(name(sw.datapath), new ArrayList<>(List.of(sw.lastError)));
      }
    }
    for (Map.Entry<String, RuleTable> entry : wanted.tables().entrySet()) {
      List<String> faults =
          entry.getValue().rules().isEmpty() ? List.of() : missing(entry.getKey());
      if (!faults.isEmpty()) {
        missing.computeIfAbsent(entry.getKey(), name -> new ArrayList<>()).addAll(faults);
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
    MirrorFlows.Result flows = mirrored(datapath);
    flows.unresolved().forEach(monitor -> missing.add(unknown(monitor)));
    flows
        .unknownPorts()
        .forEach(port -> missing.add("it has no link to %s, or more than one".formatted(port)));
    state.blocked.forEach(
        flow ->
            missing.add(
                "another controller's flow has the same table, priority and match as %s"
                    .formatted(flow)));
    if (!state.isConfirmed()) {
      missing.add("has not confirmed its rules yet");
    }
    return missing;
  }

  private String unknown(String monitor) {
    return "the port of %s (host %s) is not known"
        .formatted(monitor, wanted.monitors().getOrDefault(monitor, "?"));
  }
}
