package io.tapline.sdn.switches;

import io.tapline.sdn.flow.ObservedFlow;
import java.util.List;

/** What switches say, on the controller's thread. */
public interface SwitchListener {
  /**
   * A switch has introduced itself.
   *
   * @return whether it is welcome; another one of this number may be there
   */
  boolean connected(SwitchConnection connection, List<PortState> ports);

  void disconnected(SwitchConnection connection);

  void packetIn(SwitchConnection connection, int port, byte[] frame);

  void portChanged(SwitchConnection connection, PortState port);

  void flows(SwitchConnection connection, List<ObservedFlow> flows);

  void portCounters(SwitchConnection connection, List<PortCounters> counters);

  /** The switch could not do something. */
  void refused(SwitchConnection connection, String error);

  /** Some time has passed: 100 ms. */
  void tick();
}
