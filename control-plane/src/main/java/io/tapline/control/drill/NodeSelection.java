package io.tapline.control.drill;

import com.google.protobuf.ByteString;
import io.grpc.StatusRuntimeException;
import io.tapline.compiler.access.Scope;
import io.tapline.schema.rpc.EndpointsReply;
import io.tapline.schema.rpc.EndpointsReply.Pair;
import io.tapline.schema.rpc.EndpointsReply.Range;
import java.net.InetAddress;
import java.net.UnknownHostException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Function;

/**
 * Finds the nodes that can have seen the requested packets: a host sees packets from and to its own
 * addresses, so if a filter limits both the source and the destination, only the hosts at these
 * addresses are queried (Confluo §5.1: diagnosis concerns few of a data center's hosts). A node
 * without known addresses may have seen anything.
 *
 * <p>Nodes determine the addresses that a filter selects; their latest responses are cached.
 */
final class NodeSelection {
  private static final int MAX_KEPT = 256;

  /** A range of addresses of one family; both ends are inclusive, in network byte order. */
  private record Block(byte[] low, byte[] high) {
    static Block of(String prefix) {
      int slash = prefix.indexOf('/');
      try {
        byte[] low = InetAddress.getByName(prefix.substring(0, slash)).getAddress();
        byte[] high = low.clone();
        for (int bit = Integer.parseInt(prefix.substring(slash + 1)); bit < low.length * 8; bit++) {
          low[bit / 8] &= (byte) ~(0x80 >> bit % 8);
          high[bit / 8] |= (byte) (0x80 >> bit % 8);
        }
        return new Block(low, high);
      } catch (UnknownHostException e) {
        throw new IllegalArgumentException(prefix + " is not an address and length", e);
      }
    }

    boolean meets(Range range) {
      ByteString from = range.getLow();
      ByteString to = range.getHigh();
      return from.size() == low.length
          && to.size() == low.length
          && Arrays.compareUnsigned(from.toByteArray(), high) <= 0
          && Arrays.compareUnsigned(to.toByteArray(), low) >= 0;
    }
  }

  private final Function<String, List<String>> addresses;
  private final Map<HeaderFilter, EndpointsReply> answers =
      new LinkedHashMap<>(MAX_KEPT, 0.75f, true) {
        private static final long serialVersionUID = 1L;

        @Override
        protected boolean removeEldestEntry(Map.Entry<HeaderFilter, EndpointsReply> eldest) {
          return size() > MAX_KEPT;
        }
      };

  /**
   * Creates a selection by the hosts' addresses.
   *
   * @param addresses returns the addresses of a node's host, as "address/length"; an empty list if
   *     the host may see any packet
   */
  NodeSelection(Function<String, List<String>> addresses) {
    this.addresses = addresses;
  }

  /**
   * Returns the nodes that a caller with this scope may know about: those whose hosts have an
   * address within the scope, and those whose addresses are unknown.
   */
  Map<String, NodeClient> within(Scope scope, Map<String, NodeClient> nodes) {
    if (scope.isEverything()) {
      return nodes;
    }
    Map<String, NodeClient> known = new LinkedHashMap<>(nodes);
    known.keySet().removeIf(name -> !isWithin(scope, name));
    return known;
  }

  private boolean isWithin(Scope scope, String node) {
    List<String> own = addresses.apply(node);
    return own.isEmpty() || !within(scope, own).isEmpty();
  }

  private static List<String> within(Scope scope, List<String> prefixes) {
    return prefixes.stream()
        .filter(text -> Scope.prefix(text).filter(scope::holds).isPresent())
        .toList();
  }

  /**
   * Returns the nodes that can have seen matching packets; adds the others to {@code leftOut}, with
   * the reason.
   */
  List<NodeClient> of(List<NodeClient> nodes, HeaderFilter filter, Map<String, String> leftOut) {
    if (nodes.stream().allMatch(node -> addresses.apply(node.name()).isEmpty())) {
      return nodes;
    }
    EndpointsReply endpoints = endpoints(nodes, filter);
    if (endpoints == null) {
      return nodes;
    }
    List<NodeClient> pending = new ArrayList<>();
    for (NodeClient node : nodes) {
      List<String> prefixes = addresses.apply(node.name());
      List<Block> blocks = prefixes.stream().map(Block::of).toList();
      if (blocks.isEmpty()
          || endpoints.getPairsList().stream().anyMatch(pair -> isAt(blocks, pair))) {
        pending.add(node);
      } else {
        String own = String.join(", ", within(filter.scope(), prefixes));
        leftOut.put(node.name(), "sees packets of " + own + " only");
      }
    }
    return pending;
  }

  /**
   * Returns the addresses that the filter selects; null if no node answers or a node rejects the
   * filter; the caller then queries all nodes, which report the error.
   */
  private EndpointsReply endpoints(List<NodeClient> nodes, HeaderFilter filter) {
    synchronized (answers) {
      EndpointsReply known = answers.get(filter);
      if (known != null) {
        return known;
      }
    }
    for (NodeClient node : nodes) {
      if (node.isLost()) {
        continue;
      }
      try {
        EndpointsReply reply = Snapshots.result(node.endpoints(filter, Snapshots.TIMEOUT));
        synchronized (answers) {
          answers.put(filter, reply);
        }
        return reply;
      } catch (StatusRuntimeException e) {
        if (DrillException.ofRequest(node.name(), e.getStatus()) != null) {
          return null;
        }
      }
    }
    return null;
  }

  private static boolean isAt(List<Block> own, Pair pair) {
    if (pair.getSourceCount() == 0 || pair.getDestinationCount() == 0) {
      return true;
    }
    return own.stream()
        .anyMatch(
            block ->
                pair.getSourceList().stream().anyMatch(block::meets)
                    || pair.getDestinationList().stream().anyMatch(block::meets));
  }
}
