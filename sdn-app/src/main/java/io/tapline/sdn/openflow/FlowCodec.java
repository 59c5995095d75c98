package io.tapline.sdn.openflow;

import io.tapline.sdn.flow.Cookie;
import io.tapline.sdn.flow.Flow;
import io.tapline.sdn.flow.FlowAction;
import io.tapline.sdn.flow.ObservedFlow;
import io.tapline.sdn.flow.SwitchMessage;
import java.util.ArrayList;
import java.util.List;
import org.projectfloodlight.openflow.protocol.OFFactory;
import org.projectfloodlight.openflow.protocol.OFFlowMod;
import org.projectfloodlight.openflow.protocol.OFFlowStatsEntry;
import org.projectfloodlight.openflow.protocol.OFMessage;
import org.projectfloodlight.openflow.protocol.action.OFAction;
import org.projectfloodlight.openflow.protocol.action.OFActionOutput;
import org.projectfloodlight.openflow.protocol.action.OFActionSetField;
import org.projectfloodlight.openflow.protocol.action.OFActionSetQueue;
import org.projectfloodlight.openflow.protocol.instruction.OFInstruction;
import org.projectfloodlight.openflow.protocol.instruction.OFInstructionApplyActions;
import org.projectfloodlight.openflow.protocol.instruction.OFInstructionGotoTable;
import org.projectfloodlight.openflow.protocol.oxm.OFOxmEthDst;
import org.projectfloodlight.openflow.protocol.oxm.OFOxmTunnelId;
import org.projectfloodlight.openflow.types.MacAddress;
import org.projectfloodlight.openflow.types.OFBufferId;
import org.projectfloodlight.openflow.types.OFGroup;
import org.projectfloodlight.openflow.types.OFPort;
import org.projectfloodlight.openflow.types.TableId;
import org.projectfloodlight.openflow.types.U64;

/** Encodes and decodes flows and messages in OpenFlow. */
final class FlowCodec {
  private static final int WHOLE_FRAME = 0xffff;

  private final OFFactory factory;

  FlowCodec(OFFactory factory) {
    this.factory = factory;
  }

  OFMessage encode(SwitchMessage message, long xid) {
    if (message instanceof SwitchMessage.FlowMod mod) {
      return flowMod(mod, xid);
    } else if (message instanceof SwitchMessage.PacketOut out) {
      return packetOut(out, xid);
    }
    return factory.buildBarrierRequest().setXid(xid).build();
  }

  private OFMessage flowMod(SwitchMessage.FlowMod mod, long xid) {
    Flow flow = mod.flow();
    OFFlowMod.Builder built =
        switch (mod.kind()) {
          case ADD -> factory.buildFlowAdd();
          case MODIFY -> factory.buildFlowModifyStrict().setCookieMask(U64.of(Cookie.KIND_MASK));
          case DELETE -> factory.buildFlowDeleteStrict().setCookieMask(U64.of(Cookie.KIND_MASK));
        };
    built
        .setXid(xid)
        .setCookie(U64.of(flow.cookie()))
        .setTableId(TableId.of(flow.table()))
        .setPriority(flow.priority())
        .setBufferId(OFBufferId.NO_BUFFER)
        .setOutPort(OFPort.ANY)
        .setOutGroup(OFGroup.ANY)
        .setMatch(MatchCodec.encode(factory, flow.match()));
    if (mod.kind() != SwitchMessage.Kind.DELETE) {
      built.setInstructions(instructions(flow));
    }
    return built.build();
  }

  private List<OFInstruction> instructions(Flow flow) {
    List<OFInstruction> instructions = new ArrayList<>();
    if (!flow.actions().isEmpty()) {
      List<OFAction> actions = flow.actions().stream().map(this::action).toList();
      instructions.add(factory.instructions().applyActions(actions));
    }
    if (flow.next() != Flow.NO_TABLE) {
      instructions.add(factory.instructions().gotoTable(TableId.of(flow.next())));
    }
    return instructions;
  }

  private OFAction action(FlowAction action) {
    if (action instanceof FlowAction.Output output) {
      return factory.actions().output(OFPort.of(output.port()), WHOLE_FRAME);
    } else if (action instanceof FlowAction.SetTunnel tunnel) {
      return factory.actions().setField(factory.oxms().tunnelId(U64.of(tunnel.id())));
    } else if (action instanceof FlowAction.SetEthDst set) {
      return factory.actions().setField(factory.oxms().ethDst(MacAddress.of(set.mac())));
    } else if (action instanceof FlowAction.SetQueue set) {
      return factory.actions().setQueue(set.queue());
    }
    throw new IllegalArgumentException("unsupported action: " + action);
  }

  private OFMessage packetOut(SwitchMessage.PacketOut out, long xid) {
    List<OFAction> actions = new ArrayList<>();
    out.ports().forEach(port -> actions.add(action(new FlowAction.Output(port))));
    return factory
        .buildPacketOut()
        .setXid(xid)
        .setBufferId(OFBufferId.NO_BUFFER)
        .setInPort(OFPort.CONTROLLER)
        .setActions(actions)
        .setData(out.frame())
        .build();
  }

  static ObservedFlow decode(OFFlowStatsEntry entry) {
    List<FlowAction> actions = new ArrayList<>();
    int next = Flow.NO_TABLE;
    for (OFInstruction instruction : entry.getInstructions()) {
      if (instruction instanceof OFInstructionApplyActions apply) {
        apply.getActions().forEach(action -> actions.add(decode(action)));
      } else if (instruction instanceof OFInstructionGotoTable go) {
        next = go.getTableId().getValue();
      } else {
        actions.add(new FlowAction.Other(instruction.getType().toString()));
      }
    }
    Flow flow =
        new Flow(
            entry.getTableId().getValue(),
            entry.getPriority(),
            MatchCodec.decode(entry.getMatch()),
            actions,
            next,
            entry.getCookie().getValue());
    return new ObservedFlow(
        flow, entry.getPacketCount().getValue(), entry.getByteCount().getValue());
  }

  private static FlowAction decode(OFAction action) {
    if (action instanceof OFActionOutput output) {
      return new FlowAction.Output(output.getPort().getPortNumber());
    } else if (action instanceof OFActionSetField set
        && set.getField() instanceof OFOxmTunnelId tunnel) {
      return new FlowAction.SetTunnel(tunnel.getValue().getValue());
    } else if (action instanceof OFActionSetField set
        && set.getField() instanceof OFOxmEthDst destination) {
      return new FlowAction.SetEthDst(destination.getValue().getLong());
    } else if (action instanceof OFActionSetQueue set) {
      return new FlowAction.SetQueue((int) set.getQueueId());
    }
    return new FlowAction.Other(action.getType().toString());
  }
}
