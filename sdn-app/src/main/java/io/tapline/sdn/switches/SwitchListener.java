package io.tapline.sdn.switches;

import io.tapline.sdn.flow.ObservedFlow;
import java.util.List;

/** Receives events from switches, on the controller's thread. */
public interface SwitchListener {
  /**
   * Called when a switch has completed its handshake.
   *
   * @return true to accept it; a switch with the same ID may already be connected
   */
  boolean connected(SwitchConnection connection, List<PortState> ports);

  void disconnected(SwitchConnection connection);

  void packetIn(SwitchConnection connection, int port, byte[] frame);

  void portChanged(SwitchConnection connection, PortState port);

  void flows(SwitchConnection connection, List<ObservedFlow> flows);

  void portCounters(SwitchConnection connection, List<PortCounters> counters);

  /** Called when the switch could not process a message. */
  void refused(SwitchConnection connection, String error);

  /** Called every 100 ms. */
  void tick();
}
