package io.tapline.compiler.network;

import io.tapline.compiler.Placement;
import io.tapline.compiler.rules.MirrorPlanner;
import io.tapline.compiler.rules.MirrorRule;
import io.tapline.compiler.rules.Prefix;
import io.tapline.compiler.rules.RuleTable;
import io.tapline.compiler.rules.Wanted;
import io.tapline.placement.Cost;
import io.tapline.placement.Flows;
import io.tapline.placement.Front;
import io.tapline.placement.Layout;
import io.tapline.placement.PlacementException;
import io.tapline.placement.Problem;
import io.tapline.placement.Sizes;
import io.tapline.schema.proto.Address;
import io.tapline.schema.proto.Match;
import io.tapline.schema.proto.Monitor;
import io.tapline.schema.proto.Rule;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;

/**
 * What a query's match becomes in a network: the flows to be placed, their layout, and the mirror
 * table of each switch. A function of its input.
 *
 * <p>Each host that a named side stands for is expected to have {@link #DEFAULT_BPS} of wanted
 * traffic while no counters say better. Where both sides are named, both are tried and the one that
 * needs fewer processes, then less traffic, is taken.
 *
 * @param side whose edge switches mirror
 * @param tables by switch
 */
public record NetworkPlan(
    Network network,
    String query,
    Match match,
    MirrorPlanner.Side side,
    Problem problem,
    Layout layout,
    Cost cost,
    Map<String, RuleTable> tables) {
  /** Expected at each host of the named side, both directions: 100 Mb/s. */
  public static final long DEFAULT_BPS = 100_000_000L;

  /** Rules that a switch is taken to have room for in its mirror table. */
  public static final int TABLE_CAPACITY = 2000;

  /** What a process is worth in bits per second times weight: a tenth of a full monitor. */
  private static final double PRICE = 1e9;

  /**
   * Plans a match.
   *
   * @throws PlacementException if no host has room, or no host of the network is meant
   */
  public static NetworkPlan of(Network network, String query, Match match) {
    NetworkPlan best = null;
    for (MirrorPlanner.Side side : sides(match)) {
      int[] hosts =
          hosts(network, side == MirrorPlanner.Side.TO ? match.getToList() : match.getFromList());
      if (hosts.length > 0) {
        NetworkPlan plan = of(network, query, match, side, hosts);
        best = best == null || plan.isCheaper(best) ? plan : best;
      }
    }
    if (best == null) {
      throw new PlacementException(
          PlacementException.Code.NO_HOST,
          "no address of the query is one of a host in the inventory's network");
    }
    return best;
  }

  private boolean isCheaper(NetworkPlan other) {
    int fewer = Integer.compare(cost.processes(), other.cost.processes());
    return fewer != 0 ? fewer < 0 : cost.processorWeighted() < other.cost.processorWeighted();
  }

  private static List<MirrorPlanner.Side> sides(Match match) {
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

  private static int[] hosts(Network network, List<Address> side) {
    List<Integer> hosts = new ArrayList<>();
    for (int host = 0; host < network.addresses().size(); host++) {
      boolean meant = side.isEmpty() && !network.addresses().get(host).isEmpty();
      for (Prefix own : network.addresses().get(host)) {
        meant |= side.stream().anyMatch(a -> Prefix.parse(a.getPrefix()).overlaps(own));
      }
      if (meant) {
        hosts.add(host);
      }
    }
    return hosts.stream().mapToInt(Integer::intValue).toArray();
  }

  private static NetworkPlan of(
      Network network, String query, Match match, MirrorPlanner.Side side, int[] hosts) {
    Flows.Builder flows = new Flows.Builder(hosts.length);
    for (int host : hosts) {
      flows.add(host, host, DEFAULT_BPS);
    }
    Problem problem = new Problem(network.topology(), flows.build(), Sizes.PAPER);
    Layout layout =
        Front.of(problem, Cost.Objective.WITH_PROCESSORS, new SplittableRandom(1)).cheapest(PRICE);
    Map<String, RuleTable> tables = new LinkedHashMap<>();
    List<MirrorPlanner.Query> parts = parts(network, query, match, side, hosts, layout);
    for (Map.Entry<String, List<Wanted>> each :
        MirrorPlanner.wanted(parts, network.edges()).entrySet()) {
      tables.put(each.getKey(), RuleTable.of(each.getValue(), TABLE_CAPACITY));
    }
    return new NetworkPlan(
        network, query, match, side, problem, layout, Cost.of(problem, layout), tables);
  }

  /** The query's match for each monitor: that of the hosts which it has. */
  private static List<MirrorPlanner.Query> parts(
      Network network,
      String query,
      Match match,
      MirrorPlanner.Side side,
      int[] hosts,
      Layout layout) {
    boolean one =
        layout.monitors().stream().map(m -> network.topology().edgeOf(m.host())).distinct().count()
            == layout.monitors().size();
    if (one) {
      Map<String, String> monitors = new LinkedHashMap<>();
      for (int m = 0; m < layout.monitors().size(); m++) {
        int edge = network.topology().edgeOf(layout.monitors().get(m).host());
        monitors.put(network.topology().edgeName(edge), id(m));
      }
      return List.of(new MirrorPlanner.Query(query, match, side, monitors));
    }
    List<MirrorPlanner.Query> parts = new ArrayList<>();
    for (int m = 0; m < layout.monitors().size(); m++) {
      List<Address> own = new ArrayList<>();
      for (int i = 0; i < hosts.length; i++) {
        if (layout.monitorOfFlow()[i] == m) {
          own.addAll(addresses(network.addresses().get(hosts[i]), sideOf(match, side)));
        }
      }
      Match.Builder part = match.toBuilder();
      part =
          side == MirrorPlanner.Side.TO
              ? part.clearTo().addAllTo(own)
              : part.clearFrom().addAllFrom(own);
      int edge = network.topology().edgeOf(layout.monitors().get(m).host());
      Map<String, String> monitors = Map.of(network.topology().edgeName(edge), id(m));
      parts.add(new MirrorPlanner.Query(query, part.build(), side, monitors));
    }
    return parts;
  }

  private static List<Address> sideOf(Match match, MirrorPlanner.Side side) {
    return side == MirrorPlanner.Side.TO ? match.getToList() : match.getFromList();
  }

  /** What the query wants of a host. */
  private static List<Address> addresses(List<Prefix> host, List<Address> side) {
    List<Address> addresses = new ArrayList<>();
    for (Prefix own : host) {
      if (side.isEmpty()) {
        addresses.add(Address.newBuilder().setPrefix(own.toString()).build());
      }
      for (Address address : side) {
        Prefix wanted = Prefix.parse(address.getPrefix());
        if (wanted.overlaps(own)) {
          addresses.add(address.toBuilder().setPrefix(wanted.and(own).toString()).build());
        }
      }
    }
    return addresses;
  }

  static String id(int monitor) {
    return "monitor-" + monitor;
  }

  String hostName(Layout.Process process) {
    return network.topology().host(process.host()).name();
  }

  public int ruleCount() {
    return tables.values().stream().mapToInt(table -> table.rules().size()).sum();
  }

  /** The same for a plan. */
  public Placement.Placed placed() {
    List<Monitor> monitors = new ArrayList<>();
    for (int m = 0; m < layout.monitors().size(); m++) {
      monitors.add(
          Monitor.newBuilder()
              .setId(id(m))
              .setPartition(m)
              .setHost(hostName(layout.monitors().get(m)))
              .build());
    }
    List<Rule> rules = new ArrayList<>();
    tables.forEach((id, table) -> table.rules().forEach(rule -> rules.add(rule(id, rule))));
    return new Placement.Placed(monitors, rules);
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
