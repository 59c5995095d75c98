package io.tapline.sdn;

import io.tapline.network.rules.RuleMatch;
import io.tapline.sdn.flow.Flow;
import io.tapline.sdn.flow.FlowAction;
import io.tapline.sdn.flow.FlowDifference;
import io.tapline.sdn.flow.FlowKey;
import io.tapline.sdn.flow.FlowMatch;
import io.tapline.sdn.flow.SwitchMessage;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;

/** Flow tables that process packets according to OpenFlow 1.3 (5.1). */
public final class FakeSwitch {
  /** A packet's header, and the port through which it arrives. */
  public record Packet(int inPort, long ethDst, int ethType, RuleMatch.Header ip, int tcpFlags) {
    public Packet(long ethDst, int ethType, RuleMatch.Header ip) {
      this(1, ethDst, ethType, ip);
    }

    public Packet(int inPort, long ethDst, int ethType, RuleMatch.Header ip) {
      this(inPort, ethDst, ethType, ip, 0);
    }

    Packet to(long newEthDst) {
      return new Packet(inPort, newEthDst, ethType, ip, tcpFlags);
    }
  }

  /** A packet as it is sent. */
  public record Sent(int port, long ethDst, int queue) {
    public Sent(int port, long ethDst) {
      this(port, ethDst, 0);
    }
  }

  public final Map<FlowKey, Flow> flows = new HashMap<>();

  public void take(SwitchMessage message) {
    if (message instanceof SwitchMessage.FlowMod mod) {
      FlowDifference.apply(flows, mod);
    }
  }

  public List<Flow> all() {
    return new ArrayList<>(flows.values());
  }

  /** Returns the ports that a packet is sent out of, across all tables. */
  public Set<Integer> outputs(Packet packet) {
    Set<Integer> outputs = new TreeSet<>();
    int table = 0;
    while (table != Flow.NO_TABLE) {
      Optional<Flow> flow = decides(table, packet);
      flow.ifPresent(
          decided ->
              decided.actions().stream()
                  .filter(FlowAction.Output.class::isInstance)
                  .forEach(action -> outputs.add(((FlowAction.Output) action).port())));
      table = flow.map(Flow::next).orElse(Flow.NO_TABLE);
    }
    return outputs;
  }

  /**
   * Returns the packets that the switch sends, in order. It sends nothing to the port of arrival,
   * except through the reserved IN_PORT number.
   */
  public List<Sent> sent(Packet packet) {
    List<Sent> sent = new ArrayList<>();
    Packet current = packet;
    int table = 0;
    int queue = 0;
    while (table != Flow.NO_TABLE) {
      Optional<Flow> flow = decides(table, current);
      for (FlowAction action : flow.map(Flow::actions).orElse(List.of())) {
        if (action instanceof FlowAction.SetEthDst set) {
          current = current.to(set.mac());
        } else if (action instanceof FlowAction.SetQueue set) {
          queue = set.queue();
        } else if (action instanceof FlowAction.Output output) {
          boolean back = output.port() == FlowAction.IN_PORT;
          if (output.port() != packet.inPort()) {
            sent.add(new Sent(back ? packet.inPort() : output.port(), current.ethDst(), queue));
          }
        }
      }
      table = flow.map(Flow::next).orElse(Flow.NO_TABLE);
    }
    return sent;
  }

  private Optional<Flow> decides(int table, Packet packet) {
    return flows.values().stream()
        .filter(flow -> flow.table() == table && matches(flow.match(), packet))
        .max(Comparator.comparingInt(Flow::priority));
  }

  private static boolean matches(FlowMatch match, Packet packet) {
    return (match.inPort() == FlowMatch.ANY_PORT || match.inPort() == packet.inPort())
        && (match.ethType() == 0 || match.ethType() == packet.ethType())
        && (match.ethDst() == FlowMatch.ANY_MAC || match.ethDst() == packet.ethDst())
        && (match.ip() == null || match.ip().matches(packet.ip()))
        && match.tcpFlags().matches(packet.tcpFlags());
  }
}
