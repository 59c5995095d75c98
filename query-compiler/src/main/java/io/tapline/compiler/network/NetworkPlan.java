package io.tapline.compiler.network;

import io.tapline.compiler.Placement;
import io.tapline.network.IpPrefix;
import io.tapline.network.Network;
import io.tapline.network.Rates;
import io.tapline.network.rules.MirrorPlanner;
import io.tapline.network.rules.MirrorRule;
import io.tapline.network.rules.RuleTable;
import io.tapline.network.rules.Wanted;
import io.tapline.placement.Cost;
import io.tapline.placement.Flows;
import io.tapline.placement.Layout;
import io.tapline.placement.ParetoFront;
import io.tapline.placement.PlacementException;
import io.tapline.placement.Problem;
import io.tapline.placement.Sizes;
import io.tapline.schema.proto.Address;
import io.tapline.schema.proto.Match;
import io.tapline.schema.proto.Monitor;
import io.tapline.schema.proto.Rule;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.SplittableRandom;
import java.util.stream.IntStream;
import java.util.stream.Stream;

/**
 * The placement of a query in a network: the flows to be placed, their layout, and each switch's
 * mirror table. Planning is deterministic.
 *
 * <p>Each host of a named side is expected to have as much matching traffic as its last measured
 * rate, or {@link Rates#DEFAULT_BPS}. If both sides are named, the planner tries both and chooses
 * the one that needs fewer processes or, if equal, less traffic.
 *
 * @param side side whose edge switches mirror
 * @param hosts hosts on that side
 * @param monitorIds IDs of all monitors, in the layout's order
 * @param monitorOfHost for each of {@code hosts}, the monitor that receives its packets
 * @param tables mirror tables by switch ID
 */
public record NetworkPlan(
    Network network,
    String query,
    Match match,
    MirrorPlanner.Side side,
    int[] hosts,
    Problem problem,
    Layout layout,
    Cost cost,
    List<String> monitorIds,
    List<String> monitorOfHost,
    Map<String, RuleTable> tables) {
  /** Assumed capacity of a switch's mirror table, in rules. */
  public static final int TABLE_CAPACITY = 2000;

  /** Cost of a process, in bits per second times weight: a tenth of a full monitor's traffic. */
  private static final double PRICE = 1e9;

  /**
   * Plans a match in a network without other queries.
   *
   * @throws PlacementException if no host has room, or no host of the network matches
   */
  public static NetworkPlan of(Network network, String query, Match match) {
    NetworkPlan best = null;
    for (MirrorPlanner.Side side : sides(match)) {
      int[] hosts = hosts(network, match, side);
      if (hosts.length > 0) {
        NetworkPlan plan = of(network, query, match, side, hosts);
        best = best == null || plan.isCheaper(best) ? plan : best;
      }
    }
    if (best == null) {
      throw noHost();
    }
    return best;
  }

  static PlacementException noHost() {
    return new PlacementException(
        PlacementException.Code.NO_HOST,
        "no host in the inventory's network has an address that the query names");
  }

  boolean isCheaper(NetworkPlan otherPlan) {
    int fewer = Integer.compare(cost.processes(), otherPlan.cost.processes());
    return fewer != 0 ? fewer < 0 : cost.processorWeighted() < otherPlan.cost.processorWeighted();
  }

  /** Returns the sides at whose switches the match can be mirrored. */
  static List<MirrorPlanner.Side> sides(Match match) {
    MirrorPlanner.Side first = MirrorPlanner.side(match);
    boolean both =
        first == MirrorPlanner.Side.TO
            && isNamed(match.getToList())
            && isNamed(match.getFromList());
    return both ? List.of(MirrorPlanner.Side.TO, MirrorPlanner.Side.FROM) : List.of(first);
  }

  private static boolean isNamed(List<Address> side) {
    return !side.isEmpty() && side.stream().noneMatch(a -> a.getPrefix().isEmpty());
  }

  /** Returns the hosts on one side of a match; if it is any, all hosts that have an address. */
  static int[] hosts(Network network, Match match, MirrorPlanner.Side named) {
    List<Address> side = sideOf(match, named);
    List<Integer> hosts = new ArrayList<>();
    for (int host = 0; host < network.addresses().size(); host++) {
      boolean meant = side.isEmpty() && !network.addresses().get(host).isEmpty();
      for (IpPrefix own : network.addresses().get(host)) {
        meant |= side.stream().anyMatch(a -> IpPrefix.of(a.getPrefix()).overlaps(own));
      }
      if (meant) {
        hosts.add(host);
      }
    }
    return hosts.stream().mapToInt(Integer::intValue).toArray();
  }

  /**
   * Returns flows from hosts to themselves, which represent the traffic mirrored at their edge
   * switches.
   */
  static Flows flows(Network network, int[] hosts) {
    Flows.Builder flows = new Flows.Builder(hosts.length);
    for (int host : hosts) {
      flows.add(host, host, network.expectedBps(host));
    }
    return flows.build();
  }

  private static NetworkPlan of(
      Network network, String query, Match match, MirrorPlanner.Side side, int[] hosts) {
    Problem problem = new Problem(network.topology(), flows(network, hosts), Sizes.PAPER);
    Layout layout =
        ParetoFront.of(problem, Cost.Objective.WITH_PROCESSORS, new SplittableRandom(1))
            .cheapest(PRICE);
    Map<String, Integer> edges = new LinkedHashMap<>();
    for (int m = 0; m < layout.monitors().size(); m++) {
      edges.put(id(m), network.topology().edgeOf(layout.monitors().get(m).host()));
    }
    String[] monitors = new String[hosts.length];
    Arrays.setAll(monitors, i -> id(layout.monitorOfFlow()[i]));
    return new NetworkPlan(
        network,
        query,
        match,
        side,
        hosts,
        problem,
        layout,
        Cost.of(problem, layout),
        List.copyOf(edges.keySet()),
        List.of(monitors),
        tables(network, parts(network, query, match, side, hosts, monitors, edges, 0)));
  }

  /** Returns the mirror tables for these queries. */
  static Map<String, RuleTable> tables(Network network, List<MirrorPlanner.Query> parts) {
    return tables(network, parts, Map.of());
  }

  /**
   * Returns the mirror tables for these queries and for other packets.
   *
   * @param others packets wanted at each switch
   */
  static Map<String, RuleTable> tables(
      Network network, List<MirrorPlanner.Query> parts, Map<String, List<Wanted>> others) {
    Map<String, List<Wanted>> all =
        new LinkedHashMap<>(MirrorPlanner.wanted(parts, network.edges()));
    others.forEach(
        (id, wanted) ->
            all.merge(id, wanted, (a, b) -> Stream.concat(a.stream(), b.stream()).toList()));
    Map<String, RuleTable> tables = new LinkedHashMap<>();
    all.forEach((id, wanted) -> tables.put(id, RuleTable.of(wanted, TABLE_CAPACITY)));
    return tables;
  }

  /**
   * Returns the query to be mirrored: as a whole if each of its monitors has its own switch;
   * otherwise one part per monitor, restricted to the monitor's hosts.
   *
   * @param monitors monitor of each host
   * @param edges edge switch of each monitor
   * @param zeros number of zero bits required in far ports: see {@link MirrorPlanner.Query}
   */
  static List<MirrorPlanner.Query> parts(
      Network network,
      String query,
      Match match,
      MirrorPlanner.Side side,
      int[] hosts,
      String[] monitors,
      Map<String, Integer> edges,
      int zeros) {
    Map<String, List<Address>> own = new LinkedHashMap<>();
    for (int i = 0; i < hosts.length; i++) {
      own.computeIfAbsent(monitors[i], unused -> new ArrayList<>())
          .addAll(addresses(network.addresses().get(hosts[i]), sideOf(match, side)));
    }
    Map<String, String> ofSwitch = new LinkedHashMap<>();
    own.keySet().forEach(id -> ofSwitch.put(network.topology().edgeName(edges.get(id)), id));
    if (ofSwitch.size() == own.size()) {
      return List.of(new MirrorPlanner.Query(query, match, side, ofSwitch, zeros));
    }
    List<MirrorPlanner.Query> parts = new ArrayList<>();
    own.forEach(
        (id, addresses) -> {
          Match part = narrowed(match, side, addresses);
          String edge = network.topology().edgeName(edges.get(id));
          parts.add(new MirrorPlanner.Query(query, part, side, Map.of(edge, id), zeros));
        });
    return parts;
  }

  private static List<Address> sideOf(Match match, MirrorPlanner.Side side) {
    return side == MirrorPlanner.Side.TO ? match.getToList() : match.getFromList();
  }

  /** Returns the monitors that receive the query's packets. */
  public Set<String> ownMonitors() {
    return Set.copyOf(monitorOfHost);
  }

  /**
   * Returns the match that each of the query's monitors counts, by the name of the monitor's host:
   * the mirrored connections of the monitor's own hosts, without the packets that it receives for
   * other queries. A connection between hosts of two monitors belongs to the monitor whose edge
   * switch has the lower number, since that switch mirrors it.
   */
  public Map<String, Match> parts() {
    Map<String, List<Address>> own = new LinkedHashMap<>();
    Map<String, String> places = new HashMap<>();
    monitorsBySwitch()
        .forEach(
            m -> {
              places.put(monitorIds.get(m), hostName(layout.monitors().get(m)));
              if (monitorOfHost.contains(monitorIds.get(m))) {
                own.put(hostName(layout.monitors().get(m)), new ArrayList<>());
              }
            });
    for (int i = 0; i < hosts.length; i++) {
      own.get(places.get(monitorOfHost.get(i)))
          .addAll(addresses(network.addresses().get(hosts[i]), sideOf(match, side)));
    }
    Map<String, Match> parts = new LinkedHashMap<>();
    List<Address> earlier = new ArrayList<>();
    own.forEach(
        (host, addresses) -> {
          Match.Builder part = narrowed(match, side, addresses).toBuilder();
          if (otherSideMeans(earlier) && otherSideMeans(addresses)) {
            part.setExcept(narrowed(match, side, List.copyOf(earlier)));
          }
          parts.put(host, part.build());
          earlier.addAll(addresses);
        });
    return parts;
  }

  private List<Integer> monitorsBySwitch() {
    return IntStream.range(0, layout.monitors().size())
        .boxed()
        .sorted(
            Comparator.comparing(m -> network.topology().edgeOf(layout.monitors().get(m).host())))
        .toList();
  }

  /** Returns true if the match's other side also includes one of these addresses. */
  private boolean otherSideMeans(List<Address> addresses) {
    List<Address> otherAddresses =
        side == MirrorPlanner.Side.TO ? match.getFromList() : match.getToList();
    return addresses.stream()
        .map(address -> IpPrefix.of(address.getPrefix()))
        .anyMatch(
            own ->
                otherAddresses.isEmpty()
                    || otherAddresses.stream()
                        .anyMatch(a -> IpPrefix.of(a.getPrefix()).overlaps(own)));
  }

  private static Match narrowed(Match match, MirrorPlanner.Side side, List<Address> addresses) {
    Match.Builder part = match.toBuilder();
    return side == MirrorPlanner.Side.TO
        ? part.clearTo().addAllTo(addresses).build()
        : part.clearFrom().addAllFrom(addresses).build();
  }

  /** Returns the part of a host's addresses that the query matches. */
  private static List<Address> addresses(List<IpPrefix> host, List<Address> side) {
    List<Address> addresses = new ArrayList<>();
    for (IpPrefix own : host) {
      if (side.isEmpty()) {
        addresses.add(Address.newBuilder().setPrefix(own.toString()).build());
      }
      for (Address address : side) {
        IpPrefix wanted = IpPrefix.of(address.getPrefix());
        if (wanted.overlaps(own)) {
          addresses.add(address.toBuilder().setPrefix(wanted.and(own).toString()).build());
        }
      }
    }
    return addresses;
  }

  /** Returns the plan with another layout of the same monitors. */
  NetworkPlan with(Layout newLayout) {
    return new NetworkPlan(
        network,
        query,
        match,
        side,
        hosts,
        problem,
        newLayout,
        Cost.of(problem, newLayout),
        monitorIds,
        monitorOfHost,
        tables);
  }

  /** Returns the ID of the monitor with this number. */
  static String id(int monitor) {
    return "monitor-" + monitor;
  }

  String hostName(Layout.Process process) {
    return network.topology().host(process.host()).name();
  }

  public int ruleCount() {
    return tables.values().stream().mapToInt(table -> table.rules().size()).sum();
  }

  /** Returns the query's own monitors and rules, for its plan. */
  public Placement.Placed placed() {
    List<Monitor> monitors = new ArrayList<>();
    for (int m = 0; m < layout.monitors().size(); m++) {
      if (monitorOfHost.contains(monitorIds.get(m))) {
        monitors.add(
            Monitor.newBuilder()
                .setId(monitorIds.get(m))
                .setPartition(monitors.size())
                .setHost(hostName(layout.monitors().get(m)))
                .build());
      }
    }
    return new Placement.Placed(monitors, rules(tables, query));
  }

  /** Returns the rules in the tables that a query needs. */
  static List<Rule> rules(Map<String, RuleTable> tables, String query) {
    List<Rule> rules = new ArrayList<>();
    tables.forEach(
        (id, table) ->
            table.rules().stream()
                .filter(rule -> rule.owners().contains(query))
                .forEach(rule -> rules.add(rule(id, rule))));
    return rules;
  }

  private static Rule rule(String switchId, MirrorRule rule) {
    Rule.Builder built =
        Rule.newBuilder()
            .setSwitchId(switchId)
            .setPriority(rule.priority())
            .setMatch(rule.match().toString());
    rule.monitors().forEach(monitor -> built.addActions("output:" + monitor));
    return built.addActions("goto_table:forwarding").build();
  }
}
