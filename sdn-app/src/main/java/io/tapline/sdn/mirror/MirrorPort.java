package io.tapline.sdn.mirror;

import io.tapline.sdn.flow.FlowAction;
import java.util.ArrayList;
import java.util.List;

/**
 * The port to which a switch sends the copies for a monitor.
 *
 * @param tunnel 0 if the monitor is directly behind the port; otherwise the tunnel ID of the copies
 * @param mark destination Ethernet address of the copies; 0 if they keep that of the packet
 */
public record MirrorPort(int port, long tunnel, long mark) {
  /** A port for copies that keep their addresses. */
  public MirrorPort(int port, long tunnel) {
    this(port, tunnel, 0);
  }

  public static MirrorPort direct(int port) {
    return new MirrorPort(port, 0);
  }

  /** Returns the same port for copies that are marked. */
  public MirrorPort marked(long newMark) {
    return new MirrorPort(port, tunnel, newMark);
  }

  /** Returns true if copies are marked. */
  public boolean isMarked() {
    return mark != 0;
  }

  /** Returns the ports to which actions send copies. */
  public static List<MirrorPort> of(List<FlowAction> actions) {
    List<MirrorPort> ports = new ArrayList<>();
    long tunnel = 0;
    long mark = 0;
    for (FlowAction action : actions) {
      if (action instanceof FlowAction.SetTunnel set) {
        tunnel = set.id();
      } else if (action instanceof FlowAction.SetEthDst set) {
        mark = set.mac();
      } else if (action instanceof FlowAction.Output output) {
        ports.add(new MirrorPort(output.port(), tunnel, mark));
        tunnel = 0;
      }
    }
    return ports;
  }

  /**
   * Returns the actions that send a copy, after which a packet has the mark as its address.
   *
   * @param inPort the port by which the packet came, if it is known
   */
  List<FlowAction> actions(int inPort) {
    List<FlowAction> actions = new ArrayList<>();
    if (isMarked()) {
      actions.add(new FlowAction.SetEthDst(mark));
    }
    if (tunnel != 0) {
      actions.add(new FlowAction.SetTunnel(tunnel));
    }
    actions.add(new FlowAction.Output(port == inPort ? FlowAction.IN_PORT : port));
    return actions;
  }
}
