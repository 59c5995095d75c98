package io.tapline.control.drill;

import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * The nodes that are known, in the order in which they became so: those that the server was given,
 * which stay, and those of hosts' agents, which come and go. Any thread may call; what {@link #all}
 * gave does not change any more.
 */
final class NodeTable implements AutoCloseable {
  private final NodeAccess access;
  private final Set<String> given;
  private volatile Map<String, NodeClient> nodes = Map.of();

  /**
   * With those that stay.
   *
   * @throws IllegalArgumentException if two have the same name, or one may not be spoken to
   */
  NodeTable(List<NodeAddress> addresses, NodeAccess access) {
    this.access = access;
    try {
      for (NodeAddress address : addresses) {
        String refusal = access.refusal(address);
        if (!refusal.isEmpty()) {
          throw new IllegalArgumentException(refusal);
        }
        if (join(address, Set.of()) == null) {
          throw new IllegalArgumentException("two nodes are called " + address.name());
        }
      }
    } catch (IllegalArgumentException e) {
      close();
      throw e;
    }
    given = Set.copyOf(nodes.keySet());
  }

  Map<String, NodeClient> all() {
    return nodes;
  }

  /**
   * Takes in a node of an agent.
   *
   * @return null if nothing changes: it is there and not lost, or the server was given one of that
   *     name
   */
  NodeClient join(NodeAddress address) {
    return join(address, given);
  }

  private synchronized NodeClient join(NodeAddress address, Set<String> staying) {
    NodeClient known = nodes.get(address.name());
    if (staying.contains(address.name())
        || known != null && !known.isLost() && known.address().equals(address)) {
      return null;
    }
    NodeClient node = new NodeClient(address, access);
    if (!access.refusal(address).isEmpty()) {
      node.lose(access.refusal(address));
    }
    if (known != null) {
      known.close();
    }
    Map<String, NodeClient> more = new LinkedHashMap<>(nodes);
    more.put(address.name(), node);
    nodes = Collections.unmodifiableMap(more);
    return node;
  }

  /** It counts as dead until it joins again. */
  synchronized void lose(String name, String why) {
    NodeClient node = nodes.get(name);
    if (node != null && !given.contains(name)) {
      node.lose(why);
    }
  }

  /** There is no such node any more. */
  synchronized void forget(String name) {
    if (!given.contains(name) && nodes.containsKey(name)) {
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
