package io.tapline.sdn.flow;

import io.tapline.sdn.flow.SwitchMessage.FlowMod;
import io.tapline.sdn.flow.SwitchMessage.Kind;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Comparator;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * The messages that turn a switch's actual flows into the wanted ones. New and changed flows come
 * first, highest priority first; deletions come last, lowest priority first. Barriers separate
 * messages whose order matters. After each message, every packet is therefore treated either as
 * before or as after the change. Flows of other owners are never changed; if one has the key of a
 * wanted flow, it blocks that flow.
 *
 * @param messages messages in order; none if nothing differs
 * @param blocked wanted flows whose key belongs to another owner's flow
 */
public record FlowDifference(List<SwitchMessage> messages, List<Flow> blocked) {

  /** Returns the difference. REQUIRES: wanted flows have distinct keys. */
  public static FlowDifference between(Collection<Flow> actual, Collection<Flow> wantedFlows) {
    Map<FlowKey, Flow> has = new HashMap<>();
    actual.forEach(flow -> has.put(flow.key(), flow));
    List<FlowMod> additions = new ArrayList<>();
    List<Flow> blocked = new ArrayList<>();
    for (Flow flow : wantedFlows) {
      Flow was = has.remove(flow.key());
      if (was == null) {
        additions.add(new FlowMod(Kind.ADD, flow));
      } else if (!Cookie.isOurs(was.cookie())) {
        blocked.add(flow);
      } else if (!was.hasSameEffect(flow)) {
        additions.add(new FlowMod(Kind.MODIFY, flow));
      }
    }
    List<FlowMod> deletions = new ArrayList<>();
    has.values().stream()
        .filter(flow -> Cookie.isOurs(flow.cookie()))
        .forEach(flow -> deletions.add(new FlowMod(Kind.DELETE, flow)));
    Comparator<FlowMod> byPriority = Comparator.comparingInt(mod -> mod.flow().priority());
    additions.sort(byPriority.reversed());
    deletions.sort(byPriority);
    additions.addAll(deletions);
    return new FlowDifference(withBarriers(additions), blocked);
  }

  private static List<SwitchMessage> withBarriers(List<FlowMod> mods) {
    List<SwitchMessage> messages = new ArrayList<>();
    FlowMod previousFlow = null;
    for (FlowMod mod : mods) {
      if (previousFlow != null && ordered(previousFlow, mod)) {
        messages.add(new SwitchMessage.Barrier());
      }
      messages.add(mod);
      previousFlow = mod;
    }
    return messages;
  }

  private static boolean ordered(FlowMod previousFlow, FlowMod mod) {
    boolean ends = (previousFlow.kind() == Kind.DELETE) != (mod.kind() == Kind.DELETE);
    return ends || previousFlow.flow().priority() != mod.flow().priority();
  }

  /** Applies a change to the flows of a switch. */
  public static void apply(Map<FlowKey, Flow> flows, FlowMod mod) {
    Flow flow = mod.flow();
    switch (mod.kind()) {
      case ADD -> flows.put(flow.key(), flow);
      case MODIFY -> flows.computeIfPresent(flow.key(), (key, was) -> keepingCookie(was, flow));
      case DELETE -> flows.remove(flow.key());
    }
  }

  private static Flow keepingCookie(Flow was, Flow flow) {
    return new Flow(
        flow.table(), flow.priority(), flow.match(), flow.actions(), flow.next(), was.cookie());
  }

  /** Returns an index of flows by key. */
  public static Map<FlowKey, Flow> byKey(Collection<Flow> flows) {
    Map<FlowKey, Flow> map = new LinkedHashMap<>();
    flows.forEach(flow -> map.put(flow.key(), flow));
    return map;
  }
}
