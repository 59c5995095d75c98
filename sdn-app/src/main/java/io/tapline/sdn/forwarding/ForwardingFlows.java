package io.tapline.sdn.forwarding;

import io.tapline.sdn.flow.Cookie;
import io.tapline.sdn.flow.Flow;
import io.tapline.sdn.flow.FlowAction;
import io.tapline.sdn.flow.FlowMatch;
import io.tapline.sdn.mirror.MirrorFlows;
import java.util.ArrayList;
import java.util.List;

/** A switch's part of all trees: one flow per host. */
public final class ForwardingFlows {
  static final int PRIORITY = 1000;

  private ForwardingFlows() {}

  public static List<Flow> of(Trees trees, long datapath, long epoch) {
    List<Flow> flows = new ArrayList<>();
    trees.hops(datapath).forEach((mac, hop) -> flows.add(flow(mac, hop.port(), epoch)));
    return flows;
  }

  static Flow flow(long mac, int port, long epoch) {
    return new Flow(
        MirrorFlows.FORWARDING_TABLE,
        PRIORITY,
        FlowMatch.to(mac),
        List.of(new FlowAction.Output(port)),
        Flow.NO_TABLE,
        Cookie.of(Cookie.Kind.FORWARD, epoch));
  }
}
