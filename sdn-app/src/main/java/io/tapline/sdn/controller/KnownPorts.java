package io.tapline.sdn.controller;

import io.tapline.sdn.forwarding.Trees;
import io.tapline.sdn.mirror.PortLookup;
import io.tapline.sdn.topology.Link;
import io.tapline.sdn.topology.SwitchPort;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.SortedSet;
import java.util.TreeSet;

/** Looks up a switch's ports in the discovered links and the current trees. */
final class KnownPorts implements PortLookup {
  private final long datapath;
  private final NetworkMap map;
  private final NetworkView view;
  private final Trees trees;

  KnownPorts(long datapath, NetworkMap map, NetworkView view, Trees trees) {
    this.datapath = datapath;
    this.map = map;
    this.view = view;
    this.trees = trees;
  }

  @Override
  public OptionalInt number(String port) {
    if (port.matches("[0-9]{1,9}")) {
      return OptionalInt.of(Integer.parseInt(port));
    }
    Long neighbour = map.datapaths().get(port);
    int[] ports =
        view.links.links().stream()
            .filter(link -> link.from().datapath() == datapath)
            .filter(link -> neighbour != null && link.to().datapath() == neighbour)
            .mapToInt(link -> link.from().port())
            .toArray();
    return ports.length == 1 ? OptionalInt.of(ports[0]) : OptionalInt.empty();
  }

  @Override
  public SortedSet<Long> leaving(int port) {
    return leaving(new SwitchPort(datapath, port));
  }

  @Override
  public SortedSet<Long> entering(int port) {
    SwitchPort here = new SwitchPort(datapath, port);
    Optional<SwitchPort> peer =
        view.links.links().stream()
            .filter(link -> link.to().equals(here))
            .map(Link::from)
            .findFirst();
    return peer.map(this::leaving)
        .orElseGet(
            () -> isHost(here) ? new TreeSet<>(trees.hops(datapath).keySet()) : new TreeSet<>());
  }

  private boolean isHost(SwitchPort port) {
    return view.hosts.hosts().stream().anyMatch(host -> host.at().equals(port));
  }

  private SortedSet<Long> leaving(SwitchPort port) {
    SortedSet<Long> hosts = new TreeSet<>();
    trees
        .hops(port.datapath())
        .forEach(
            (mac, hop) -> {
              if (hop.port() == port.port()) {
                hosts.add(mac);
              }
            });
    return hosts;
  }
}
