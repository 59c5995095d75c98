package io.tapline.compiler.network;

import io.tapline.network.SwitchPorts;
import io.tapline.network.rules.CopyMark;
import io.tapline.network.rules.RuleMatch;
import io.tapline.network.rules.Wanted;
import io.tapline.placement.PlacementException;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * The switches that copy all traffic to collectors, for all queries. Immutable.
 *
 * <pre>
 *   EDGE   h1 ──▶ leaf1 ──▶ spine     each pair of ports that a host's packets can cross
 *   ALL    any ──▶ leaf1 ──▶ any      each port through which packets can leave
 *                    │
 *                    └──▶ collector   marked with the ports that the rule names
 * </pre>
 *
 * <p>The rules of a switch never overlap, so it copies a packet at most once. With EDGE, copies of
 * packets between hosts of one switch do not name the egress port: that port also carries packets
 * that are not copied here, so the copies do not show its load.
 */
final class TrafficCopies {
  private final SwitchPorts ports;
  private final Map<String, Traffic> queries;

  private TrafficCopies(SwitchPorts ports, Map<String, Traffic> queries) {
    this.ports = ports;
    this.queries = queries;
  }

  /** A copied packet's ports, by name; empty for any. */
  private record Crossing(String in, String out, long mark) {
    RuleMatch match() {
      return RuleMatch.ANY.through(in, out);
    }

    /** Returns the name by which rules refer to these copies. */
    String monitor(String collector) {
      return "%s:ports-%d-%d"
          .formatted(collector, mark >>> 12 & CopyMark.MAX_PORT, mark & CopyMark.MAX_PORT);
    }
  }

  static TrafficCopies none(SwitchPorts ports) {
    return new TrafficCopies(ports, Map.of());
  }

  boolean has(String query) {
    return queries.containsKey(query);
  }

  /**
   * Adds a query.
   *
   * @throws PlacementException if ports of a switch are not numbered, or another query has a
   *     different vantage, since a monitor could not tell the copies apart
   */
  TrafficCopies with(String query, Traffic traffic) {
    for (String name : traffic.collectors().keySet()) {
      ports.of(name).forEach(port -> requireNumber(name, port));
    }
    Optional<String> conflicting =
        queries.keySet().stream()
            .filter(otherQuery -> queries.get(otherQuery).vantage() != traffic.vantage())
            .findFirst();
    if (conflicting.isPresent()) {
      throw new PlacementException(
          PlacementException.Code.NO_HOST,
          "query %s is running with vantage=%s, and switches support one vantage at a time: use the same one, or stop that query"
              .formatted(conflicting.get(), name(queries.get(conflicting.get()).vantage())));
    }
    Map<String, Traffic> changed = new LinkedHashMap<>(queries);
    changed.put(query, traffic);
    return new TrafficCopies(ports, changed);
  }

  private static String name(Traffic.Vantage vantage) {
    return vantage == Traffic.Vantage.EDGE ? "edge" : "all";
  }

  private static void requireNumber(String name, SwitchPorts.Port port) {
    if (!port.isNumbered() || port.number() > CopyMark.MAX_PORT) {
      throw new PlacementException(
          PlacementException.Code.NO_HOST,
          "copies are marked with port numbers, but network.ports in the inventory has no number from 1 to %d for the port from %s to %s"
              .formatted(CopyMark.MAX_PORT, name, port.neighbour()));
    }
  }

  TrafficCopies without(String query) {
    Map<String, Traffic> changed = new LinkedHashMap<>(queries);
    changed.remove(query);
    return new TrafficCopies(ports, changed);
  }

  /** Returns the packets wanted at each switch, by switch name. */
  Map<String, List<Wanted>> wanted() {
    Map<String, List<Wanted>> wanted = new LinkedHashMap<>();
    queries.forEach(
        (query, traffic) ->
            traffic
                .collectors()
                .forEach(
                    (name, collector) -> {
                      for (Crossing crossing : crossings(name, traffic.vantage())) {
                        wanted
                            .computeIfAbsent(name, ignored -> new ArrayList<>())
                            .add(new Wanted(query, crossing.monitor(collector), crossing.match()));
                      }
                    }));
    return wanted;
  }

  private List<Crossing> crossings(String name, Traffic.Vantage vantage) {
    List<Crossing> crossings = new ArrayList<>();
    for (SwitchPorts.Port out : ports.of(name)) {
      if (vantage == Traffic.Vantage.ALL) {
        crossings.add(new Crossing("", out.tapName(), CopyMark.ports(0, out.number())));
        continue;
      }
      for (SwitchPorts.Port in : ports.of(name)) {
        if (isHost(in) && !in.equals(out)) {
          int leaves = isHost(out) ? 0 : out.number();
          crossings.add(
              new Crossing(in.tapName(), out.tapName(), CopyMark.ports(in.number(), leaves)));
        }
      }
    }
    return crossings;
  }

  private boolean isHost(SwitchPorts.Port port) {
    return !ports.switches().contains(port.neighbour());
  }

  /** Returns the host that receives each kind of copy, keyed by the copies' name in rules. */
  Map<String, String> hosts() {
    Map<String, String> hosts = new LinkedHashMap<>();
    forEach((collector, crossing) -> hosts.put(crossing.monitor(collector), collector));
    return hosts;
  }

  /** Returns the mark that each kind of copy carries, by the copies' name in rules. */
  Map<String, Long> marks() {
    Map<String, Long> marks = new LinkedHashMap<>();
    forEach((collector, crossing) -> marks.put(crossing.monitor(collector), crossing.mark()));
    return marks;
  }

  private interface Copies {
    void of(String collector, Crossing crossing);
  }

  private void forEach(Copies copies) {
    for (Traffic traffic : queries.values()) {
      traffic
          .collectors()
          .forEach(
              (name, collector) ->
                  crossings(name, traffic.vantage())
                      .forEach(crossing -> copies.of(collector, crossing)));
    }
  }
}
