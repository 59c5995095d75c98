package io.tapline.sdn.flow;

/** What a flow does with a packet beside handing it on to a table. */
public sealed interface FlowAction {
  /** The controller as a port. */
  int CONTROLLER = 0xffff_fffd;

  /** Sends it out. */
  record Output(int port) implements FlowAction {
    @Override
    public String toString() {
      return port == CONTROLLER ? "CONTROLLER:65535" : "output:" + Integer.toUnsignedString(port);
    }
  }

  /** Says which tunnel it goes through, for an output to a tunnel port. */
  record SetTunnel(long id) implements FlowAction {
    @Override
    public String toString() {
      return "set_field:%d->tun_id".formatted(id);
    }
  }

  /** Anything else that a switch tells of. */
  record Other(String text) implements FlowAction {
    @Override
    public String toString() {
      return text;
    }
  }
}
