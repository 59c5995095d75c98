package io.tapline.sdn.controller;

import java.util.List;
import java.util.Map;

/**
 * What a controller knows.
 *
 * @param links between switches that work both ways
 * @param settled whether all is as it should be: nothing is under way
 */
public record ControllerStatus(
    List<SwitchStatus> switches,
    int links,
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
      long mirroredPackets) {}

  /** A host. */
  public record HostStatus(String mac, List<String> addresses, String at) {}
}
