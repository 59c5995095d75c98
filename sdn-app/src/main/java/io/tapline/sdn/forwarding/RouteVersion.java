package io.tapline.sdn.forwarding;

import java.util.List;
import java.util.Map;

/**
 * One version of the switches' routes, from which monitors infer the ports of packets.
 *
 * @param number grows with each version
 * @param settleNs maximum time from a switch's confirmation of a change until the last copy of a
 *     packet that took the earlier route reaches a monitor
 * @param switches routes and ports by switch name; unknown for absent switches
 */
public record RouteVersion(long number, long settleNs, Map<String, Switch> switches) {
  /** The routes of one switch, and the ports that routes or links use. */
  public record Switch(List<Route> routes, List<Port> ports) {
    public Switch {
      routes = List.copyOf(routes);
      ports = List.copyOf(ports);
    }
  }

  /**
   * A port of one switch.
   *
   * @param bitsPerSecond speed of the port's link; 0 if unknown
   * @param neighbour name of the switch behind it; empty for a host
   * @param neighbourPort the port through which packets enter that switch; 0 for a host
   */
  public record Port(int number, long bitsPerSecond, String neighbour, int neighbourPort) {}

  /**
   * A route of one switch.
   *
   * @param mac destination Ethernet address
   * @param port port through which the switch forwards packets to the address
   * @param changing true if the switch is about to change to this route
   */
  public record Route(long mac, int port, boolean changing) {}

  public RouteVersion {
    switches = Map.copyOf(switches);
  }
}
