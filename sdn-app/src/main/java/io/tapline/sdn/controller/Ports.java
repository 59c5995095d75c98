package io.tapline.sdn.controller;

import io.tapline.sdn.topology.SwitchPort;
import java.util.Collection;

/** The ports of connected switches that hosts may be behind. */
public interface Ports {
  /**
   * Returns true if a port has been up long enough that a switch behind it would have been
   * discovered.
   */
  boolean isEdge(SwitchPort port);

  Collection<SwitchPort> edges();

  int switches();
}
