package io.tapline.sdn.forwarding;

import java.util.List;
import java.util.Map;

/**
 * One version of the routes of switches, by which monitors infer the ports of packets.
 *
 * @param number grows with each version
 * @param settleNs the longest time for which a switch that has confirmed a change may still use its
 *     earlier route, and a copy may be on its way to a monitor
 * @param switches routes by name of the switch; those of absent switches are unknown
 */
public record RouteVersion(long number, long settleNs, Map<String, List<Route>> switches) {
  /**
   * A route of one switch.
   *
   * @param mac destination Ethernet address
   * @param port port by which the switch forwards packets to the address
   * @param changing true if the switch is about to change the route to this port
   */
  public record Route(long mac, int port, boolean changing) {}

  public RouteVersion {
    switches = Map.copyOf(switches);
  }
}
