package io.tapline.sdn.mirror;

import java.util.List;
import java.util.Map;

/**
 * What a controller knows of its network.
 *
 * @param links between switches that work both ways
 * @param cables which those are
 * @param settled whether all is as it should be: nothing is under way
 */
public record NetworkStatus(
    List<SwitchStatus> switches,
    int links,
    List<LinkStatus> cables,
    List<HostStatus> hosts,
    boolean settled,
    Map<String, Long> counters) {

  /** A switch; its flows are those of ours. */
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

  /** A port that has told what it has counted since it is there. */
  public record PortStatus(
      int port,
      long rxPackets,
      long txPackets,
      long rxBytes,
      long txBytes,
      long rxDropped,
      long txDropped) {}

  /** A link, by its two ports, as SWITCH:PORT. */
  public record LinkStatus(String from, String to) {}

  /** A host. */
  public record HostStatus(String mac, List<String> addresses, String at) {}
}
