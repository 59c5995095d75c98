package io.tapline.control.testbed;

import java.util.List;

/**
 * The programs that run on hosts: an agent and a MultiLog node on each.
 *
 * @param hosts names of the hosts; empty for none
 * @param controlPlanes addresses at which control planes accept agents, HOST:PORT
 * @param nodeMemoryMib memory for a node's rows; beyond it, the oldest rows are dropped
 */
public record Agents(List<String> hosts, List<String> controlPlanes, int nodeMemoryMib) {
  private static final int MIN_MEMORY_MIB = 64;

  public Agents {
    hosts = List.copyOf(hosts);
    controlPlanes = List.copyOf(controlPlanes);
    if (nodeMemoryMib < MIN_MEMORY_MIB) {
      throw new IllegalArgumentException(
          "a MultiLog node needs at least %d MiB, not %d".formatted(MIN_MEMORY_MIB, nodeMemoryMib));
    }
  }

  public static Agents none() {
    return new Agents(List.of(), List.of(), MIN_MEMORY_MIB);
  }

  /**
   * Selects these hosts of a fat tree.
   *
   * @throws IllegalArgumentException if the tree has no such host
   */
  public static Agents in(
      FatTreePlan plan, List<String> hosts, List<String> controlPlanes, int nodeMemoryMib) {
    List<String> hostIds = plan.hosts().stream().map(FatTreePlan.Node::id).toList();
    for (String host : hosts) {
      if (!hostIds.contains(host)) {
        throw new IllegalArgumentException(
            "there is no host '%s': hosts are %s to %s"
                .formatted(host, hostIds.get(0), hostIds.get(hostIds.size() - 1)));
      }
    }
    return new Agents(hosts.stream().distinct().toList(), controlPlanes, nodeMemoryMib);
  }
}
