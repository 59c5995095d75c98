package io.tapline.sdn.switches;

import io.tapline.sdn.flow.SwitchMessage;
import java.util.List;

/** A switch that has said who it is. Used on the controller's thread only. */
public interface SwitchConnection {
  long datapath();

  /** "192.0.2.1:40000". */
  String remote();

  /** "1.3". */
  String version();

  /** Sends messages in order; one that has gone takes nothing. */
  void send(List<? extends SwitchMessage> messages);

  /** Has something done when the switch has done all that was sent before; or when it goes. */
  void afterAll(Runnable done);

  /** Asks for all flows and for the counters of ports. */
  void askFlows();

  void askPortCounters();

  void close(Counter why);
}
