package io.tapline.sdn.forwarding;

import io.tapline.sdn.flow.Cookie;
import io.tapline.sdn.flow.Flow;
import io.tapline.sdn.flow.FlowAction;
import io.tapline.sdn.flow.FlowMatch;
import io.tapline.sdn.mirror.MirrorFlows;
import java.util.List;

/**
 * The flows that every switch has. They send LLDP and ARP to the controller, and all other packets
 * to the forwarding table.
 */
public final class BaseFlows {
  private static final int CONTROL_PRIORITY = 50_000;

  private BaseFlows() {}

  public static List<Flow> of(long epoch) {
    long cookie = Cookie.of(Cookie.Kind.BASE, epoch);
    List<FlowAction> controller = List.of(new FlowAction.Output(FlowAction.CONTROLLER));
    int table = MirrorFlows.MIRROR_TABLE;
    return List.of(
        toController(FlowMatch.LLDP, controller, cookie),
        toController(FlowMatch.ARP, controller, cookie),
        new Flow(table, 0, FlowMatch.ALL, List.of(), MirrorFlows.FORWARDING_TABLE, cookie));
  }

  private static Flow toController(int ethType, List<FlowAction> controller, long cookie) {
    return new Flow(
        MirrorFlows.MIRROR_TABLE,
        CONTROL_PRIORITY,
        FlowMatch.ofEthType(ethType),
        controller,
        Flow.NO_TABLE,
        cookie);
  }
}
