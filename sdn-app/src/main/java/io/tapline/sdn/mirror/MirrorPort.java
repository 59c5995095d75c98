package io.tapline.sdn.mirror;

import io.tapline.sdn.flow.FlowAction;
import java.util.ArrayList;
import java.util.List;

/**
 * The port to which a switch sends the copies for a monitor.
 *
 * @param tunnel 0 if the monitor is directly behind the port; otherwise the tunnel ID of the copies
 */
public record MirrorPort(int port, long tunnel) {
  public static MirrorPort direct(int port) {
    return new MirrorPort(port, 0);
  }

  /** Returns the ports to which actions send copies. */
  public static List<MirrorPort> of(List<FlowAction> actions) {
    List<MirrorPort> ports = new ArrayList<>();
    long tunnel = 0;
    for (FlowAction action : actions) {
      if (action instanceof FlowAction.SetTunnel set) {
        tunnel = set.id();
      } else if (action instanceof FlowAction.Output output) {
        ports.add(new MirrorPort(output.port(), tunnel));
        tunnel = 0;
      }
    }
    return ports;
  }

  List<FlowAction> actions() {
    FlowAction output = new FlowAction.Output(port);
    return tunnel == 0 ? List.of(output) : List.of(new FlowAction.SetTunnel(tunnel), output);
  }
}
