package io.tapline.placement;

import io.tapline.network.Topology;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * The processes of many queries together, as an immutable value. A change returns a new value and
 * describes the required actions; it moves only the processes that must move. Adding a query takes
 * time linear in its own flows and in the number of processes, regardless of other queries' flows.
 */
public final class Deployment {
  final Topology topology;
  final Sizes sizes;
  final Map<String, Part> queries;
  final Set<Integer> closedHosts;
  final Running running;

  /** A query's flows and their monitors. */
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
   * A change to a deployment, with the amount of work that it requires.
   *
   * @param started number of started processes
   * @param stopped number of stopped processes
   * @param movedFlows number of existing queries' flows that move to another monitor
   * @param rewired number of existing monitors that write to another aggregator
   */
  public record Change(Deployment after, int started, int stopped, long movedFlows, int rewired) {}

  /** Returns a deployment without processes. */
  public static Deployment empty(Topology topology, Sizes sizes) {
    return new Deployment(topology, sizes, Map.of(), Set.of(), new Running());
  }

  public Collection<String> queries() {
    return queries.keySet();
  }

  public int processes() {
    return running.processes();
  }

  /**
   * Returns the number of each flow's monitor in a query; a monitor keeps its number while it runs.
   */
  public int[] monitorOfFlow(String query) {
    return queries.get(query).monitorOfFlow().clone();
  }

  /** Returns the numbers of all monitors, in the order of {@link #layout}. */
  public List<Integer> monitorNumbers() {
    return List.copyOf(running.monitors.keySet());
  }

  /**
   * Adds a query, preferring the spare capacity of running monitors and engines.
   *
   * @throws PlacementException if there is not enough capacity
   */
  public Change add(String query, Flows flows) {
    if (queries.containsKey(query)) {
      throw new IllegalArgumentException("query " + query + " is already running");
    }
    Reshaping reshaping = new Reshaping(this);
    int[] monitors = reshaping.assign(new Problem(topology, flows, sizes));
    Map<String, Part> newParts = new HashMap<>(queries);
    newParts.put(query, new Part(flows, monitors));
    return reshaping.change(newParts, closedHosts, 0);
  }

  /** Ends a query and stops processes that are no longer needed. */
  public Change remove(String query) {
    Part part = queries.get(query);
    if (part == null) {
      throw new IllegalArgumentException("query " + query + " is not running");
    }
    Reshaping reshaping = new Reshaping(this);
    for (int flow = 0; flow < part.flows().size(); flow++) {
      reshaping.drop(part.monitorOfFlow()[flow], part.flows().rateBps(flow));
    }
    Map<String, Part> newParts = new HashMap<>(queries);
    newParts.remove(query);
    reshaping.stopIdle(newParts);
    return reshaping.change(newParts, closedHosts, 0);
  }

  /**
   * Takes a host out of use because it was lost or is being drained. Moves only that host's
   * processes.
   *
   * @throws PlacementException if other hosts do not have enough capacity
   */
  public Change close(int host) {
    Set<Integer> closed = new HashSet<>(closedHosts);
    closed.add(host);
    Reshaping reshaping = new Reshaping(new Deployment(topology, sizes, queries, closed, running));
    reshaping.moveEngines(host);
    Set<Integer> gone = reshaping.monitorsOn(host);
    Map<String, Part> newParts = new HashMap<>(queries);
    long moved = 0;
    for (Map.Entry<String, Part> entry : queries.entrySet()) {
      Part part = entry.getValue();
      int[] affected = affected(part, gone);
      if (affected.length > 0) {
        int[] monitorOfFlow = part.monitorOfFlow().clone();
        for (int flow : affected) {
          reshaping.drop(monitorOfFlow[flow], part.flows().rateBps(flow));
        }
        int[] monitors =
            reshaping.assign(new Problem(topology, part.flows().select(affected), sizes));
        for (int i = 0; i < affected.length; i++) {
          monitorOfFlow[affected[i]] = monitors[i];
        }
        moved += affected.length;
        newParts.put(entry.getKey(), new Part(part.flows(), monitorOfFlow));
      }
    }
    reshaping.stopIdle(newParts);
    return reshaping.change(newParts, closed, moved);
  }

  /** Makes a closed host available again. Nothing moves. */
  public Deployment reopen(int host) {
    Set<Integer> closed = new HashSet<>(closedHosts);
    closed.remove(host);
    return new Deployment(topology, sizes, queries, closed, running);
  }

  /**
   * Restricts new processes to these hosts, and makes any closed ones among them available again.
   * Nothing moves: processes on other hosts end with their queries.
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

  /** Returns all queries as one problem. */
  public Problem problem() {
    Flows.Builder flows = new Flows.Builder(16);
    for (Part part : queries.values()) {
      for (int flow = 0; flow < part.flows().size(); flow++) {
        flows.add(part.flows().from(flow), part.flows().to(flow), part.flows().rateBps(flow));
      }
    }
    return new Problem(topology, flows.build(), sizes);
  }

  /** Returns the processes as a layout of {@link #problem}. */
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
