package io.tapline.sdn.flow;

import java.util.List;

/** A message that the controller decides to send to a switch. */
public sealed interface SwitchMessage {
  /** The kind of a change; all are strict and affect only the flow with this key. */
  enum Kind {
    /** Adds a flow or replaces one with the same key. */
    ADD,
    /** Replaces the actions; counters and cookie stay. */
    MODIFY,
    /** Deletes a flow if its cookie is of the same kind. */
    DELETE
  }

  /** A change of the flow table. */
  record FlowMod(Kind kind, Flow flow) implements SwitchMessage {}

  /** Completes everything before it before anything after it begins. */
  record Barrier() implements SwitchMessage {}

  /** Sends a frame out of ports. */
  record PacketOut(List<Integer> ports, byte[] frame) implements SwitchMessage {}
}
