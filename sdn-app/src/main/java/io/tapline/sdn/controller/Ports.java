package io.tapline.sdn.controller;

import io.tapline.sdn.topology.SwitchPort;
import java.util.Collection;

/** The ports of connected switches that may have hosts behind them. */
public interface Ports {
  /** Returns true if a port has been up long enough to rule out a switch behind it. */
  boolean isEdge(SwitchPort port);

  Collection<SwitchPort> edges();

  int switches();
}
