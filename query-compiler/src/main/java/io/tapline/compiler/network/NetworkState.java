package io.tapline.compiler.network;

import io.tapline.network.Network;
import io.tapline.network.SwitchPorts;
import io.tapline.network.rules.MirrorPlanner;
import io.tapline.network.rules.RuleTable;
import io.tapline.network.rules.TooManyRules;
import io.tapline.network.rules.Transition;
import io.tapline.placement.Cost;
import io.tapline.placement.Deployment;
import io.tapline.placement.Layout;
import io.tapline.placement.PlacementException;
import io.tapline.placement.Problem;
import io.tapline.placement.Sizes;
import io.tapline.schema.proto.Match;
import io.tapline.schema.proto.Queue;
import io.tapline.schema.proto.Rule;
import java.util.Arrays;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;

/**
 * The network's state for all queries together: the hosts of processes, and one mirror table per
 * switch. Immutable: a change returns a new state and the steps that lead to it. A change keeps
 * everything that need not change.
 */
public final class NetworkState {
  private final Network network;
  private final Deployment deployment;
  private final Map<String, Part> queries;
  private final Copies copies;
  private final Map<String, RuleTable> tables;

  /**
   * A query, the hosts whose edge switches mirror it, and the number of zero bits required in far
   * ports: see {@link MirrorPlanner.Query}.
   */
  private record Part(Match match, MirrorPlanner.Side side, int[] hosts, int zeros) {}

  /**
   * A change.
   *
   * @param steps steps of each switch, in order; none for a switch whose table is unchanged
   * @param started number of started processes
   * @param stopped number of stopped processes
   */
  public record Change(
      NetworkState after, Map<String, List<Transition.Step>> steps, int started, int stopped) {}

  private NetworkState(
      Network network,
      Deployment deployment,
      Map<String, Part> queries,
      Copies copies,
      Map<String, RuleTable> tables) {
    this.network = network;
    this.deployment = deployment;
    this.queries = queries;
    this.copies = copies;
    this.tables = tables;
  }

  /** Returns the state of a network without queries. */
  public static NetworkState empty(Network network) {
    return empty(network, SwitchPorts.NONE);
  }

  /** Returns the state, without queries, of a network whose ports are known. */
  public static NetworkState empty(Network network, SwitchPorts ports) {
    Deployment nothing = Deployment.empty(network.topology(), Sizes.PAPER);
    return new NetworkState(network, nothing, Map.of(), Copies.none(ports), Map.of());
  }

  /**
   * Returns this state with new processes restricted to these hosts. Processes on other hosts stay
   * until their queries end.
   */
  public NetworkState using(Set<String> hosts) {
    Set<Integer> numbers = new HashSet<>();
    for (int host = 0; host < network.topology().hostCount(); host++) {
      if (hosts.contains(network.topology().host(host).name())) {
        numbers.add(host);
      }
    }
    return new NetworkState(network, deployment.using(numbers), queries, copies, tables);
  }

  public Set<String> queries() {
    return queries.keySet();
  }

  /** Returns the tables by switch; switches that mirror nothing are absent. */
  public Map<String, RuleTable> tables() {
    return tables;
  }

  /**
   * Returns the name of each monitor's host, by the monitor's ID, and of the host that receives
   * each kind of copy, by the copies' name in rules.
   */
  public Map<String, String> monitorHosts() {
    List<Layout.Process> monitors = deployment.layout().monitors();
    List<Integer> numbers = deployment.monitorNumbers();
    Map<String, String> hosts = new LinkedHashMap<>();
    for (int m = 0; m < monitors.size(); m++) {
      int host = monitors.get(m).host();
      hosts.put(NetworkPlan.id(numbers.get(m)), network.topology().host(host).name());
    }
    hosts.putAll(copies.hosts());
    return hosts;
  }

  /** Returns true if the network has a host with this name. */
  public boolean hasHost(String name) {
    return network.hostOf(name).isPresent();
  }

  /** Returns the mark that each kind of copy carries, by the copies' name in rules. */
  public Map<String, Long> marks() {
    return copies.marks();
  }

  /** Returns true if switches copy queues or all traffic for a query. */
  public boolean copiesFor(String query) {
    return copies.has(query);
  }

  /** Returns the queues that switches copy for a query, with their hosts and marks. */
  public List<Queue> copied(String query) {
    return copies.queues().of(query);
  }

  /**
   * Returns the queues, each with the host that measures it and the mark of its copies.
   *
   * @param hosts the hosts that have a monitor
   * @throws PlacementException if no host can see both sides of a queue, or the inventory lists no
   *     link at it
   */
  public List<Queue> place(List<Queue> queues, Set<String> hosts) {
    return copies.queues().place(queues, hosts);
  }

  /**
   * Makes switches copy both sides of queues. REQUIRES: {@link #place} returned the queues, in this
   * or an earlier process.
   *
   * @throws TooManyRules if a switch has no room for the rules
   */
  public Change copy(String query, List<Queue> placedQueues) {
    return change(
        deployment, queries, copies.with(copies.queues().with(query, placedQueues)), 0, 0);
  }

  /**
   * Makes switches copy their traffic to collectors.
   *
   * @throws PlacementException if the inventory does not number ports, or another query has a
   *     different vantage
   * @throws TooManyRules if a switch has no room for the rules
   */
  public Change copy(String query, Traffic traffic) {
    return change(deployment, queries, copies.with(copies.traffic().with(query, traffic)), 0, 0);
  }

  /**
   * Adds a query, preferring the spare capacity of running processes. If both sides are named,
   * mirrors at the side that needs fewer processes or, if equal, less traffic.
   *
   * @throws PlacementException if no host has room, or no host of the network matches
   * @throws TooManyRules if a switch has no room for the rules
   */
  public Change add(String query, Match match) {
    Change best = null;
    NetworkPlan bestPlan = null;
    RuntimeException refusal = NetworkPlan.noHost();
    for (MirrorPlanner.Side side : NetworkPlan.sides(match)) {
      int[] hosts = NetworkPlan.hosts(network, match, side);
      if (hosts.length == 0) {
        continue;
      }
      try {
        Change change = add(query, new Part(match, side, hosts, 0));
        NetworkPlan plan = change.after().plan(query);
        if (best == null || plan.isCheaper(bestPlan)) {
          best = change;
          bestPlan = plan;
        }
      } catch (PlacementException | TooManyRules e) {
        refusal = e;
      }
    }
    if (best == null) {
      throw refusal;
    }
    return best;
  }

  private Change add(String query, Part part) {
    Map<String, Part> extended = new LinkedHashMap<>(queries);
    extended.put(query, part);
    return change(deployment.add(query, NetworkPlan.flows(network, part.hosts())), extended);
  }

  /**
   * Makes switches mirror only those connections of a query whose far port has this many zero bits:
   * one selects half of the connections, two select a quarter. REQUIRES: the query was added, and
   * {@link MirrorPlanner#canBeNarrowed} is true for its match.
   *
   * @throws TooManyRules if a switch has no room for the rules
   */
  public Change narrow(String query, int zeros) {
    Part was = queries.get(query);
    Map<String, Part> extended = new LinkedHashMap<>(queries);
    extended.put(query, new Part(was.match(), was.side(), was.hosts(), zeros));
    return change(deployment, extended, 0, 0);
  }

  /** Ends a query and removes processes and rules that are no longer needed. */
  public Change remove(String query) {
    if (copies.has(query)) {
      return change(deployment, queries, copies.without(query), 0, 0);
    }
    Map<String, Part> without = new LinkedHashMap<>(queries);
    without.remove(query);
    return change(deployment.remove(query), without);
  }

  /**
   * Takes a failed host out of use: its processes move to other hosts, and all others stay.
   *
   * @throws PlacementException if the other hosts do not have enough capacity
   * @throws TooManyRules if a switch has no room for the rules
   */
  public Change close(String host) {
    for (int number = 0; number < network.topology().hostCount(); number++) {
      if (network.topology().host(number).name().equals(host)) {
        return change(deployment.close(number), queries);
      }
    }
    throw new IllegalArgumentException("no host " + host + " is in the network");
  }

  private Change change(Deployment.Change movedChange, Map<String, Part> after) {
    return change(movedChange.after(), after, movedChange.started(), movedChange.stopped());
  }

  private Change change(Deployment next, Map<String, Part> after, int started, int stopped) {
    return change(next, after, copies, started, stopped);
  }

  private Change change(
      Deployment next, Map<String, Part> after, Copies copiesThen, int started, int stopped) {
    Map<String, Integer> edges = edges(next);
    List<MirrorPlanner.Query> parts =
        after.entrySet().stream()
            .flatMap(entry -> parts(next, entry.getKey(), entry.getValue(), edges).stream())
            .toList();
    Map<String, RuleTable> tablesThen = NetworkPlan.tables(network, parts, copiesThen.wanted());
    NetworkState state = new NetworkState(network, next, after, copiesThen, tablesThen);
    return new Change(state, steps(tablesThen), started, stopped);
  }

  private List<MirrorPlanner.Query> parts(
      Deployment next, String query, Part part, Map<String, Integer> edges) {
    String[] monitors = monitors(next, query);
    return NetworkPlan.parts(
        network, query, part.match(), part.side(), part.hosts(), monitors, edges, part.zeros());
  }

  private Map<String, List<Transition.Step>> steps(Map<String, RuleTable> next) {
    Set<String> switches = new TreeSet<>(tables.keySet());
    switches.addAll(next.keySet());
    Map<String, List<Transition.Step>> steps = new LinkedHashMap<>();
    for (String id : switches) {
      RuleTable before = tables.getOrDefault(id, RuleTable.empty());
      RuleTable after = next.getOrDefault(id, RuleTable.empty());
      List<Transition.Step> own = Transition.steps(before, after, NetworkPlan.TABLE_CAPACITY);
      if (!own.isEmpty()) {
        steps.put(id, own);
      }
    }
    return steps;
  }

  /** Returns the monitor of each flow in a query; a query has one flow per host. */
  private static String[] monitors(Deployment deployment, String query) {
    return Arrays.stream(deployment.monitorOfFlow(query))
        .mapToObj(NetworkPlan::id)
        .toArray(String[]::new);
  }

  private Map<String, Integer> edges(Deployment next) {
    List<Layout.Process> monitors = next.layout().monitors();
    List<Integer> numbers = next.monitorNumbers();
    Map<String, Integer> edges = new LinkedHashMap<>();
    for (int m = 0; m < monitors.size(); m++) {
      edges.put(NetworkPlan.id(numbers.get(m)), network.topology().edgeOf(monitors.get(m).host()));
    }
    return edges;
  }

  /** Returns the rules that a query needs, for its plan. */
  public List<Rule> rules(String query) {
    return NetworkPlan.rules(tables, query);
  }

  /**
   * Returns a query's plan, including the processes and rules of all other queries. REQUIRES: the
   * query was added.
   */
  public NetworkPlan plan(String query) {
    Part part = queries.get(query);
    Problem problem = deployment.problem();
    Layout layout = deployment.layout();
    return new NetworkPlan(
        network,
        query,
        part.match(),
        part.side(),
        part.hosts(),
        problem,
        layout,
        Cost.of(problem, layout),
        deployment.monitorNumbers().stream().map(NetworkPlan::id).toList(),
        List.of(monitors(deployment, query)),
        tables);
  }
}
