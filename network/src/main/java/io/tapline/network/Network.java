package io.tapline.network;

import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.stream.IntStream;

/**
 * A topology with its hosts' addresses and measured traffic.
 *
 * @param addresses each host's addresses, by its number in the topology; empty if unknown
 */
public record Network(Topology topology, List<List<IpPrefix>> addresses, Rates rates) {
  public Network {
    addresses = addresses.stream().map(List::copyOf).toList();
  }

  /** Returns a host's number in the topology. REQUIRES: the topology has this host. */
  public int number(String host) {
    return IntStream.range(0, topology.hostCount())
        .filter(number -> topology.host(number).name().equals(host))
        .findFirst()
        .orElseThrow();
  }

  /** Returns the name of the host that has this name or address. */
  public Optional<String> hostOf(String nameOrAddress) {
    Optional<IpPrefix> address = IpPrefix.parse(nameOrAddress);
    for (int host = 0; host < topology.hostCount(); host++) {
      String name = topology.host(host).name();
      List<IpPrefix> own = addresses.get(host);
      if (name.equals(nameOrAddress)
          || address.filter(a -> own.stream().anyMatch(a::overlaps)).isPresent()) {
        return Optional.of(name);
      }
    }
    return Optional.empty();
  }

  /** Returns this network with measured rates. */
  public Network with(Rates countedRates) {
    return new Network(topology, addresses, countedRates);
  }

  /** Returns true if the traffic of a host was measured. */
  public boolean isCounted(int host) {
    return rates.bps(topology.host(host).name()).isPresent();
  }

  /**
   * Returns the measured traffic of a host, or {@link Rates#DEFAULT_BPS} if it was not measured:
   * both directions, in bits per second.
   */
  public long expectedBps(int host) {
    return rates.bps(topology.host(host).name()).orElse(Rates.DEFAULT_BPS);
  }

  /** Returns the edge switches with the addresses below them. */
  public List<EdgeSwitch> edges() {
    List<List<IpPrefix>> below = new ArrayList<>();
    for (int edge = 0; edge < topology.edgeCount(); edge++) {
      below.add(new ArrayList<>());
    }
    for (int host = 0; host < topology.hostCount(); host++) {
      below.get(topology.edgeOf(host)).addAll(addresses.get(host));
    }
    List<EdgeSwitch> edges = new ArrayList<>();
    for (int edge = 0; edge < below.size(); edge++) {
      edges.add(new EdgeSwitch(topology.edgeName(edge), below.get(edge)));
    }
    return edges;
  }
}
