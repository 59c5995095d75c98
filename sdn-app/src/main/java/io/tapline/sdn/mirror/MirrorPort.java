package io.tapline.sdn.mirror;

import io.tapline.network.rules.CopyMark;
import io.tapline.sdn.flow.FlowAction;
import java.util.ArrayList;
import java.util.List;

/**
 * The port to which a switch sends the copies for a monitor.
 *
 * @param tunnel 0 if the monitor is directly behind the port; otherwise the tunnel ID of the copies
 * @param mark destination Ethernet address of the copies; 0 if they keep the packet's
 * @param queue the port's queue for copies of the segments that open or end TCP connections, if
 *     their mark names ports; 0 if they share the queue of all copies
 */
public record MirrorPort(int port, long tunnel, long mark, int queue) {
  /** Creates a port for copies that keep their addresses. */
  public MirrorPort(int port, long tunnel) {
    this(port, tunnel, 0, 0);
  }

  public static MirrorPort direct(int port) {
    return new MirrorPort(port, 0);
  }

  /** Returns the same port with this mark; 0 for none. */
  public MirrorPort marked(long newMark) {
    return new MirrorPort(port, tunnel, newMark, queue);
  }

  /** Returns the same port with a queue for copies of segments that open or end connections. */
  public MirrorPort withQueue(int newQueue) {
    return new MirrorPort(port, tunnel, mark, newQueue);
  }

  /** Returns the same port without mark and queue. */
  public MirrorPort place() {
    return new MirrorPort(port, tunnel);
  }

  /** Returns true if copies of segments that open or end connections have a separate queue. */
  boolean hasPreferred() {
    return queue != 0 && CopyMark.isPorts(mark);
  }

  /** Returns true if copies are marked. */
  public boolean isMarked() {
    return mark != 0;
  }

  /** Returns the ports to which actions send copies, without their queues. */
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
        ports.add(new MirrorPort(output.port(), tunnel).marked(mark));
        tunnel = 0;
      }
    }
    return ports;
  }

  /**
   * Returns the actions that send a copy. They leave the mark, if any, in the packet as its
   * destination address.
   *
   * @param inPort the port through which the packet came; {@code FlowMatch.ANY_PORT} if unknown
   * @param preferred true for segments that open or end connections
   */
  List<FlowAction> actions(int inPort, boolean preferred) {
    boolean separate = preferred && hasPreferred();
    List<FlowAction> actions = new ArrayList<>();
    if (isMarked()) {
      actions.add(new FlowAction.SetEthDst(separate ? CopyMark.preferred(mark) : mark));
    }
    if (tunnel != 0) {
      actions.add(new FlowAction.SetTunnel(tunnel));
    }
    if (separate) {
      actions.add(new FlowAction.SetQueue(queue));
    }
    actions.add(new FlowAction.Output(port == inPort ? FlowAction.IN_PORT : port));
    if (separate) {
      actions.add(new FlowAction.SetQueue(0));
    }
    return actions;
  }
}
