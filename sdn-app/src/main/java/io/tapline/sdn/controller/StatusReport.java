package io.tapline.sdn.controller;

import io.tapline.sdn.flow.Cookie;
import io.tapline.sdn.flow.Mac;
import io.tapline.sdn.flow.ObservedFlow;
import io.tapline.sdn.mirror.NetworkStatus;
import io.tapline.sdn.switches.PortCounters;
import io.tapline.sdn.topology.Host;
import io.tapline.sdn.topology.SwitchPort;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Objects;

/** Reports the controller's knowledge of the network. */
final class StatusReport {
  private StatusReport() {}

  static NetworkStatus of(
      NetworkView view, Mirroring mirroring, boolean hasSettled, Map<String, Long> counters) {
    return new NetworkStatus(
        view.switches.values().stream()
            .filter(SwitchState::isConnected)
            .map(sw -> switchStatus(sw, mirroring.name(sw.datapath)))
            .toList(),
        view.links.links().size() / 2,
        cables(view, mirroring),
        view.hosts.hosts().stream()
            .sorted(Comparator.comparingLong(Host::mac))
            .map(host -> hostStatus(host, mirroring))
            .toList(),
        hasSettled,
        counters);
  }

  /** Returns each cable once, not once per direction. */
  private static List<NetworkStatus.LinkStatus> cables(NetworkView view, Mirroring mirroring) {
    return view.links.links().stream()
        .map(link -> List.of(port(link.from(), mirroring), port(link.to(), mirroring)))
        .filter(ends -> ends.get(0).compareTo(ends.get(1)) < 0)
        .map(ends -> new NetworkStatus.LinkStatus(ends.get(0), ends.get(1)))
        .sorted(Comparator.comparing(NetworkStatus.LinkStatus::from))
        .toList();
  }

  private static String port(SwitchPort switchPort, Mirroring mirroring) {
    return mirroring.name(switchPort.datapath()) + ":" + switchPort.port();
  }

  private static NetworkStatus.SwitchStatus switchStatus(SwitchState state, String name) {
    long mirrored =
        state.observed.values().stream()
            .filter(observed -> Cookie.is(Cookie.Kind.MIRROR, observed.flow().cookie()))
            .filter(observed -> !observed.flow().actions().isEmpty())
            .mapToLong(ObservedFlow::packets)
            .sum();
    return new NetworkStatus.SwitchStatus(
        name,
        "%016x".formatted(state.datapath),
        state.connection.remote(),
        state.connection.version(),
        state.ports.size(),
        state.count(Cookie.Kind.BASE),
        state.count(Cookie.Kind.MIRROR),
        state.count(Cookie.Kind.FORWARD),
        mirrored,
        portCounters(state));
  }

  private static List<NetworkStatus.PortStatus> portCounters(SwitchState state) {
    return state.ports.values().stream()
        .map(port -> port.counters)
        .filter(Objects::nonNull)
        .sorted(Comparator.comparingInt(PortCounters::port))
        .map(
            counters ->
                new NetworkStatus.PortStatus(
                    counters.port(),
                    counters.rxPackets(),
                    counters.txPackets(),
                    counters.rxBytes(),
                    counters.txBytes(),
                    counters.rxDropped(),
                    counters.txDropped()))
        .toList();
  }

  private static NetworkStatus.HostStatus hostStatus(Host host, Mirroring mirroring) {
    List<String> addresses = host.ips().stream().sorted().map(StatusReport::address).toList();
    String portName = port(host.at(), mirroring);
    return new NetworkStatus.HostStatus(Mac.text(host.mac()), addresses, portName);
  }

  private static String address(int ip) {
    return "%d.%d.%d.%d".formatted(ip >>> 24, ip >> 16 & 0xff, ip >> 8 & 0xff, ip & 0xff);
  }
}
