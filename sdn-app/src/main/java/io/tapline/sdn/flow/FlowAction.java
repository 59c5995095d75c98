package io.tapline.sdn.flow;

/** An action of a flow on a packet, other than passing it to a table. */
public sealed interface FlowAction {
  /** The controller's port number. */
  int CONTROLLER = 0xffff_fffd;

  /**
   * The port through which the packet arrived; switches send it back there only if an action has
   * this number.
   */
  int IN_PORT = 0xffff_fff8;

  /** Sends the packet out of a port. */
  record Output(int port) implements FlowAction {
    @Override
    public String toString() {
      return switch (port) {
        case CONTROLLER -> "CONTROLLER:65535";
        case IN_PORT -> "IN_PORT";
        default -> "output:" + Integer.toUnsignedString(port);
      };
    }
  }

  /** Sets the tunnel ID for the outputs to tunnel ports that follow. */
  record SetTunnel(long id) implements FlowAction {
    @Override
    public String toString() {
      return "set_field:%d->tun_id".formatted(id);
    }
  }

  /** Sets the destination Ethernet address for the actions that follow. */
  record SetEthDst(long mac) implements FlowAction {
    @Override
    public String toString() {
      return "set_field:%s->eth_dst".formatted(Mac.text(mac));
    }
  }

  /** Sets the port's queue for the outputs that follow; 0 is the default. */
  record SetQueue(int queue) implements FlowAction {
    @Override
    public String toString() {
      return "set_queue:" + queue;
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
