package io.tapline.sdn.flow;

import java.util.List;

/** What the controller decides that a switch be told. */
public sealed interface SwitchMessage {
  /** What is done with a flow; all strictly, the flow of this key alone. */
  enum Kind {
    /** Also replaces a flow of the same key. */
    ADD,
    /** Other actions; counters stay, and so does the cookie. */
    MODIFY,
    /** Only if the cookie is of the same kind. */
    DELETE
  }

  /** A change of the flow table. */
  record FlowMod(Kind kind, Flow flow) implements SwitchMessage {}

  /** All before it is done before anything behind it. */
  record Barrier() implements SwitchMessage {}

  /** Sends a frame out of ports. */
  record PacketOut(List<Integer> ports, byte[] frame) implements SwitchMessage {}
}
