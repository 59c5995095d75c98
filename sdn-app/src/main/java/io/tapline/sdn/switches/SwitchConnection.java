package io.tapline.sdn.switches;

import io.tapline.sdn.flow.SwitchMessage;
import java.util.List;

/** A connection to a switch whose handshake is complete. Confined to the controller's thread. */
public interface SwitchConnection {
  long datapath();

  /** Returns the peer's address, for example "192.0.2.1:40000". */
  String remote();

  /** Returns the OpenFlow version, for example "1.3". */
  String version();

  /** Sends messages in order; does nothing if the switch is disconnected. */
  void send(List<? extends SwitchMessage> messages);

  /** Runs an action once the switch has processed all earlier messages, or has disconnected. */
  void afterAll(Runnable done);

  /** Requests all flows. */
  void requestFlows();

  void requestPortCounters();

  void close(Counter reason);
}
