package io.tapline.sdn.flow;

import java.util.List;

/** A message from the controller to a switch. */
public sealed interface SwitchMessage {
  /** Kind of change. All are strict: they affect only the flow with exactly the given key. */
  enum Kind {
    /** Adds a flow or replaces one with the same key. */
    ADD,
    /** Replaces a flow's actions if its cookie has the same kind; keeps counters and cookie. */
    MODIFY,
    /** Deletes a flow if its cookie has the same kind. */
    DELETE
  }

  /** Changes one flow of the table. */
  record FlowMod(Kind kind, Flow flow) implements SwitchMessage {}

  /** Makes the switch process all earlier messages before any later one. */
  record Barrier() implements SwitchMessage {}

  /** Sends a frame out of ports. */
  record PacketOut(List<Integer> ports, byte[] frame) implements SwitchMessage {}
}
