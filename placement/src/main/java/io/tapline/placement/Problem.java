package io.tapline.placement;

import io.tapline.network.Topology;

/** The flows to monitor, the network and the sizes of processes. */
public record Problem(Topology topology, Flows flows, Sizes sizes) {
  /** Throws if a flow is larger than a monitor's capacity, since then no placement exists. */
  void requireMonitorable() {
    for (int flow = 0; flow < flows.size(); flow++) {
      if (flows.rateBps(flow) > sizes.monitorBps()) {
        throw new PlacementException(
            PlacementException.Code.FLOW_TOO_LARGE,
            ("the flow from %s to %s has %,d bit/s, but a monitor processes at most %,d:"
                    + " sample the flow, or give monitors more capacity")
                .formatted(
                    topology.host(flows.from(flow)).name(),
                    topology.host(flows.to(flow)).name(),
                    flows.rateBps(flow),
                    sizes.monitorBps()));
      }
    }
  }

  /** Returns the edge switch of a flow's first host. */
  int fromEdge(int flow) {
    return topology.edgeOf(flows.from(flow));
  }

  /** Returns the edge switch of a flow's second host. */
  int toEdge(int flow) {
    return topology.edgeOf(flows.to(flow));
  }
}
