package io.tapline.sdn.switches;

import io.tapline.sdn.flow.SwitchMessage;
import java.util.List;

/** A switch that has introduced itself. Confined to the controller's thread. */
public interface SwitchConnection {
  long datapath();

  /** "192.0.2.1:40000". */
  String remote();

  /** "1.3". */
  String version();

  /** Sends messages in order; ignored by a switch that is disconnected. */
  void send(List<? extends SwitchMessage> messages);

  /**
   * Runs an action when the switch has processed everything sent before, or when it disconnects.
   */
  void afterAll(Runnable done);

  /** Requests all flows and the counters of ports. */
  void askFlows();

  void askPortCounters();

  void close(Counter why);
}
