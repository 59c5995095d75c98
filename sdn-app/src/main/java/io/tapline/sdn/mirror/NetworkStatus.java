package io.tapline.sdn.mirror;

import java.util.List;
import java.util.Map;

/**
 * A controller's knowledge of its network.
 *
 * @param links number of links between switches that work in both directions
 * @param cables the links between switches that work in both directions
 * @param settled true if the network is in the wanted state, with no change in progress
 */
public record NetworkStatus(
    List<SwitchStatus> switches,
    int links,
    List<LinkStatus> cables,
    List<HostStatus> hosts,
    boolean settled,
    Map<String, Long> counters) {

  /** A switch; its counts include only Tapline's flows. */
  public record SwitchStatus(
      String name,
      String datapath,
      String address,
      String version,
      int ports,
      long baseFlows,
      long mirrorFlows,
      long forwardingFlows,
      long mirroredPackets,
      List<PortStatus> portCounters) {}

  /** Counters of a port since its creation. */
  public record PortStatus(
      int port,
      long rxPackets,
      long txPackets,
      long rxBytes,
      long txBytes,
      long rxDropped,
      long txDropped) {}

  /** A link, given by its two ports as SWITCH:PORT. */
  public record LinkStatus(String from, String to) {}

  /** A host's addresses, and its port as SWITCH:PORT. */
  public record HostStatus(String mac, List<String> addresses, String at) {}
}
