package io.tapline.placement;

import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * What runs for many queries at once, as an immutable value. A change gives a new one and says what
 * has to be done; what need not move stays. Adding a query takes time linear in its own flows and
 * in the number of processes, not in the flows of the others.
 */
public final class Deployment {
  final Topology topology;
  final Sizes sizes;
  final Map<String, Part> queries;
  final Set<Integer> closedHosts;
  final Running running;

  /** A query's flows, and the monitors that have them. */
  record Part(Flows flows, int[] monitorOfFlow) {}

  Deployment(
      Topology topology,
      Sizes sizes,
      Map<String, Part> queries,
      Set<Integer> closedHosts,
      Running running) {
    this.topology = topology;
    this.sizes = sizes;
    this.queries = queries;
    this.closedHosts = closedHosts;
    this.running = running;
  }

  /**
   * What a change does.
   *
   * @param started processes
   * @param stopped processes
   * @param movedFlows flows of queries that ran before which get another monitor
   * @param rewired monitors of before which write to another aggregator
   */
  public record Change(Deployment after, int started, int stopped, long movedFlows, int rewired) {}

  /** Nothing runs. */
  public static Deployment empty(Topology topology, Sizes sizes) {
    return new Deployment(topology, sizes, Map.of(), Set.of(), new Running());
  }

  public Collection<String> queries() {
    return queries.keySet();
  }

  public int processes() {
    return running.processes();
  }

  /** By flow of a query, its monitor's number, which stays that monitor's while it runs. */
  public int[] monitorOfFlow(String query) {
    return queries.get(query).monitorOfFlow().clone();
  }

  /** The numbers of all monitors, in the order of {@link #layout}. */
  public List<Integer> monitorNumbers() {
    return List.copyOf(running.monitors.keySet());
  }

  /**
   * Adds a query: first with what running monitors and engines have room for.
   *
   * @throws PlacementException if there is no room; nothing changes then
   */
  public Change add(String query, Flows flows) {
    if (queries.containsKey(query)) {
      throw new IllegalArgumentException("query " + query + " runs already");
    }
    Reshaping reshaping = new Reshaping(this);
    int[] monitors = reshaping.assign(new Problem(topology, flows, sizes));
    Map<String, Part> after = new HashMap<>(queries);
    after.put(query, new Part(flows, monitors));
    return reshaping.change(after, closedHosts, 0);
  }

  /** Ends a query: processes that nothing needs any more are stopped. */
  public Change remove(String query) {
    Part part = queries.get(query);
    if (part == null) {
      throw new IllegalArgumentException("no query " + query + " runs");
    }
    Reshaping reshaping = new Reshaping(this);
    for (int flow = 0; flow < part.flows().size(); flow++) {
      reshaping.drop(part.monitorOfFlow()[flow], part.flows().rateBps(flow));
    }
    Map<String, Part> after = new HashMap<>(queries);
    after.remove(query);
    reshaping.stopIdle(after);
    return reshaping.change(after, closedHosts, 0);
  }

  /**
   * Takes a host out of use, because it was lost or is to be drained: only what runs on it moves.
   *
   * @throws PlacementException if there is no room elsewhere; nothing changes then
   */
  public Change close(int host) {
    Set<Integer> closed = new HashSet<>(closedHosts);
    closed.add(host);
    Reshaping reshaping = new Reshaping(new Deployment(topology, sizes, queries, closed, running));
    reshaping.moveEngines(host);
    Set<Integer> gone = reshaping.monitorsOn(host);
    Map<String, Part> after = new HashMap<>(queries);
    long moved = 0;
    for (Map.Entry<String, Part> entry : queries.entrySet()) {
      Part part = entry.getValue();
      int[] affected = affected(part, gone);
      if (affected.length > 0) {
        int[] of = part.monitorOfFlow().clone();
        for (int flow : affected) {
          reshaping.drop(of[flow], part.flows().rateBps(flow));
        }
        int[] monitors =
            reshaping.assign(new Problem(topology, part.flows().select(affected), sizes));
        for (int i = 0; i < affected.length; i++) {
          of[affected[i]] = monitors[i];
        }
        moved += affected.length;
        after.put(entry.getKey(), new Part(part.flows(), of));
      }
    }
    reshaping.stopIdle(after);
    return reshaping.change(after, closed, moved);
  }

  /** Lets a host be used again. Nothing moves. */
  public Deployment reopen(int host) {
    Set<Integer> closed = new HashSet<>(closedHosts);
    closed.remove(host);
    return new Deployment(topology, sizes, queries, closed, running);
  }

  /**
   * From now on only these hosts are used. Nothing moves: what runs elsewhere goes with its
   * queries.
   */
  public Deployment using(Set<Integer> hosts) {
    Set<Integer> closed = new HashSet<>();
    for (int host = 0; host < topology.hostCount(); host++) {
      if (!hosts.contains(host)) {
        closed.add(host);
      }
    }
    return new Deployment(topology, sizes, queries, Set.copyOf(closed), running);
  }

  private static int[] affected(Part part, Set<Integer> monitors) {
    List<Integer> affected = new ArrayList<>();
    for (int flow = 0; !monitors.isEmpty() && flow < part.flows().size(); flow++) {
      if (monitors.contains(part.monitorOfFlow()[flow])) {
        affected.add(flow);
      }
    }
    return affected.stream().mapToInt(Integer::intValue).toArray();
  }

  /** All queries as one problem. */
  public Problem problem() {
    Flows.Builder flows = new Flows.Builder(16);
    for (Part part : queries.values()) {
      for (int flow = 0; flow < part.flows().size(); flow++) {
        flows.add(part.flows().from(flow), part.flows().to(flow), part.flows().rateBps(flow));
      }
    }
    return new Problem(topology, flows.build(), sizes);
  }

  /** What runs, as a layout of {@link #problem}. */
  public Layout layout() {
    List<Integer> monitorOfFlow = new ArrayList<>();
    for (Part part : queries.values()) {
      for (int monitor : part.monitorOfFlow()) {
        monitorOfFlow.add(monitor);
      }
    }
    return running.layout(monitorOfFlow.stream().mapToInt(Integer::intValue).toArray());
  }
}
