package io.tapline.control.drill;

import io.tapline.control.registry.LeaseListener;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The MultiLog nodes that hosts' agents report. A node is queried until the lease of its agent
 * ends; it is then reported as missing until the agent returns or is forgotten.
 */
public final class LeasedNodes implements LeaseListener {
  private static final Logger LOG = LoggerFactory.getLogger(LeasedNodes.class);

  private final DrillService drill;

  public LeasedNodes(DrillService drill) {
    this.drill = drill;
  }

  @Override
  public void up(String agent, String multilog) {
    if (multilog.isEmpty()) {
      drill.forget(agent);
      return;
    }
    try {
      drill.join(new NodeAddress(agent, multilog));
    } catch (IllegalArgumentException e) {
      LOG.warn("agent {}: '{}' is not an address of a node: {}", agent, multilog, e.getMessage());
    }
  }

  @Override
  public void lost(String agent) {
    drill.lose(agent, "the lease of its host's agent has ended");
  }

  @Override
  public void forgotten(String agent) {
    drill.forget(agent);
  }
}
