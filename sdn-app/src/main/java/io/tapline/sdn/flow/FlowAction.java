package io.tapline.sdn.flow;

/** An action of a flow on a packet, other than passing it to a table. */
public sealed interface FlowAction {
  /** The controller's port number. */
  int CONTROLLER = 0xffff_fffd;

  /** Sends the packet out of a port. */
  record Output(int port) implements FlowAction {
    @Override
    public String toString() {
      return port == CONTROLLER ? "CONTROLLER:65535" : "output:" + Integer.toUnsignedString(port);
    }
  }

  /** Sets the tunnel for an output to a tunnel port. */
  record SetTunnel(long id) implements FlowAction {
    @Override
    public String toString() {
      return "set_field:%d->tun_id".formatted(id);
    }
  }

  /** Any other action that a switch reports. */
  record Other(String text) implements FlowAction {
    @Override
    public String toString() {
      return text;
    }
  }
}
