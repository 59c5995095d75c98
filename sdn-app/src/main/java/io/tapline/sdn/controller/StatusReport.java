package io.tapline.sdn.controller;

import io.tapline.sdn.flow.Cookie;
import io.tapline.sdn.flow.Mac;
import io.tapline.sdn.flow.ObservedFlow;
import io.tapline.sdn.topology.Host;
import java.util.Comparator;
import java.util.List;
import java.util.Map;

/** What a controller knows, for others. */
final class StatusReport {
  private StatusReport() {}

  static ControllerStatus of(
      NetworkView view, Mirroring mirroring, boolean settled, Map<String, Long> counters) {
    return new ControllerStatus(
        view.switches.values().stream()
            .filter(SwitchState::isConnected)
            .map(each -> switchStatus(each, mirroring.name(each.datapath)))
            .toList(),
        view.links.links().size() / 2,
        view.hosts.hosts().stream()
            .sorted(Comparator.comparingLong(Host::mac))
            .map(host -> hostStatus(host, mirroring))
            .toList(),
        settled,
        counters);
  }

  private static ControllerStatus.SwitchStatus switchStatus(SwitchState state, String name) {
    long mirrored =
        state.observed.values().stream()
            .filter(each -> Cookie.is(Cookie.Kind.MIRROR, each.flow().cookie()))
            .filter(each -> !each.flow().actions().isEmpty())
            .mapToLong(ObservedFlow::packets)
            .sum();
    return new ControllerStatus.SwitchStatus(
        name,
        "%016x".formatted(state.datapath),
        state.connection.remote(),
        state.connection.version(),
        state.ports.size(),
        state.count(Cookie.Kind.BASE),
        state.count(Cookie.Kind.MIRROR),
        state.count(Cookie.Kind.FORWARD),
        mirrored);
  }

  private static ControllerStatus.HostStatus hostStatus(Host host, Mirroring mirroring) {
    List<String> addresses = host.ips().stream().sorted().map(StatusReport::address).toList();
    String at = mirroring.name(host.at().datapath()) + ":" + host.at().port();
    return new ControllerStatus.HostStatus(Mac.text(host.mac()), addresses, at);
  }

  private static String address(int ip) {
    return "%d.%d.%d.%d".formatted(ip >>> 24, ip >> 16 & 0xff, ip >> 8 & 0xff, ip & 0xff);
  }
}
