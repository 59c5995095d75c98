package io.tapline.placement;

import java.util.Arrays;

/**
 * Tracks the flows that each edge switch covers, and which flows have no monitor yet. Memory, and
 * the time to assign all flows, are linear in the number of flows: each list is traversed only once
 * in total. Not thread-safe.
 */
final class Coverage {
  static final int NONE = -1;

  private final Problem problem;
  private final int[] begin;
  private final int[] next;
  private final int[] listed;
  private final int[] unassigned;
  private final int[] monitorOfFlow;
  private int left;

  Coverage(Problem problem) {
    this.problem = problem;
    int edges = problem.topology().edgeCount();
    int flows = problem.flows().size();
    unassigned = new int[edges];
    for (int flow = 0; flow < flows; flow++) {
      count(flow, 1);
    }
    begin = new int[edges + 1];
    for (int edge = 0; edge < edges; edge++) {
      begin[edge + 1] = begin[edge] + unassigned[edge];
    }
    listed = new int[begin[edges]];
    next = Arrays.copyOf(begin, edges);
    for (int flow = 0; flow < flows; flow++) {
      listed[next[problem.fromEdge(flow)]++] = flow;
      if (problem.toEdge(flow) != problem.fromEdge(flow)) {
        listed[next[problem.toEdge(flow)]++] = flow;
      }
    }
    System.arraycopy(begin, 0, next, 0, edges);
    monitorOfFlow = new int[flows];
    Arrays.fill(monitorOfFlow, NONE);
    left = flows;
  }

  private void count(int flow, int change) {
    int sourceEdge = problem.fromEdge(flow);
    int targetEdge = problem.toEdge(flow);
    unassigned[sourceEdge] += change;
    if (targetEdge != sourceEdge) {
      unassigned[targetEdge] += change;
    }
  }

  /** Returns the number of flows without a monitor under this edge switch. */
  int unassigned(int edge) {
    return unassigned[edge];
  }

  /** Returns the number of flows without a monitor. */
  int left() {
    return left;
  }

  /** Returns the edge switch's next flow without a monitor, or {@link #NONE}. */
  int peek(int edge) {
    while (next[edge] < begin[edge + 1] && monitorOfFlow[listed[next[edge]]] != NONE) {
      next[edge]++;
    }
    return next[edge] < begin[edge + 1] ? listed[next[edge]] : NONE;
  }

  /** Returns the index, for {@link #flowAt}, at which {@link #peek} stopped. */
  int nextIndex(int edge) {
    return next[edge];
  }

  void assign(int flow, int monitor) {
    monitorOfFlow[flow] = monitor;
    left--;
    count(flow, -1);
  }

  /**
   * Returns the index, for {@link #flowAt}, of the first flow that the edge switch covers, assigned
   * or not.
   */
  int listBegin(int edge) {
    return begin[edge];
  }

  int listEnd(int edge) {
    return begin[edge + 1];
  }

  int flowAt(int index) {
    return listed[index];
  }

  boolean isAssigned(int flow) {
    return monitorOfFlow[flow] != NONE;
  }

  /**
   * Returns the monitor of each flow without copying the array. REQUIRES: all flows are assigned.
   */
  int[] monitorOfFlow() {
    return monitorOfFlow;
  }

  /** Returns any flow without a monitor, or {@link #NONE}. */
  int anyLeft() {
    for (int flow = 0; flow < monitorOfFlow.length; flow++) {
      if (monitorOfFlow[flow] == NONE) {
        return flow;
      }
    }
    return NONE;
  }
}
