package io.tapline.control.drill;

import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * The known nodes, in the order in which they became known: configured nodes, which are permanent,
 * and nodes of hosts' agents, which join and leave. Thread-safe; a map that {@link #all} has
 * returned never changes.
 */
final class NodeTable implements AutoCloseable {
  private final NodeAccess access;
  private final Set<String> configured;
  private volatile Map<String, NodeClient> nodes = Map.of();

  /**
   * Creates a table of the permanent nodes.
   *
   * @throws IllegalArgumentException if two nodes have the same name, or {@code access} refuses a
   *     node
   */
  NodeTable(List<NodeAddress> addresses, NodeAccess access) {
    this.access = access;
    access.check(addresses);
    addresses.forEach(address -> join(address, Set.of()));
    configured = Set.copyOf(nodes.keySet());
  }

  Map<String, NodeClient> all() {
    return nodes;
  }

  /**
   * Adds the node of an agent.
   *
   * @return its client; null if nothing changes, since the node is known with this address and not
   *     lost, or a configured node has that name
   */
  NodeClient join(NodeAddress address) {
    return join(address, configured);
  }

  private synchronized NodeClient join(NodeAddress address, Set<String> staying) {
    NodeClient knownClient = nodes.get(address.name());
    if (staying.contains(address.name())
        || knownClient != null && !knownClient.isLost() && knownClient.address().equals(address)) {
      return null;
    }
    NodeClient node = new NodeClient(address, access);
    if (!access.refusal(address).isEmpty()) {
      node.lose(access.refusal(address));
    }
    if (knownClient != null) {
      knownClient.close();
    }
    Map<String, NodeClient> updatedNodes = new LinkedHashMap<>(nodes);
    updatedNodes.put(address.name(), node);
    nodes = Collections.unmodifiableMap(updatedNodes);
    return node;
  }

  /** Treats an agent's node as dead until it joins again. */
  synchronized void lose(String name, String reason) {
    NodeClient node = nodes.get(name);
    if (node != null && !configured.contains(name)) {
      node.lose(reason);
    }
  }

  /** Removes a node. */
  synchronized void forget(String name) {
    if (!configured.contains(name) && nodes.containsKey(name)) {
      Map<String, NodeClient> fewer = new LinkedHashMap<>(nodes);
      fewer.remove(name).close();
      nodes = Collections.unmodifiableMap(fewer);
    }
  }

  @Override
  public void close() {
    nodes.values().forEach(NodeClient::close);
  }
}
