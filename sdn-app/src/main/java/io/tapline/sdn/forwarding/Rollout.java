package io.tapline.sdn.forwarding;

import io.tapline.sdn.flow.Flow;
import io.tapline.sdn.flow.FlowDifference;
import io.tapline.sdn.flow.SwitchMessage.FlowMod;
import io.tapline.sdn.flow.SwitchMessage.Kind;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/**
 * Divides a change of forwarding into rounds, since switches can't all change at once. A round must
 * not begin until all switches have completed the previous one. For each host, the switches nearest
 * to it change first. A packet therefore follows its old tree until it reaches a changed switch,
 * and from there the new tree, in which all remaining switches have changed. There is never a loop,
 * and if both the old and the new path lead to the host, so do all intermediate paths. Flows for
 * hosts that no longer exist are deleted last.
 */
public final class Rollout {
  private Rollout() {}

  /**
   * Returns the rounds of changes that turn the actual flows into those of the trees.
   *
   * @param actual forwarding flows by switch; absent switches are not changed
   * @return changes by switch, for each round
   */
  public static List<Map<Long, List<FlowMod>>> rounds(
      Map<Long, ? extends Collection<Flow>> actual, Trees trees, long epoch) {
    TreeMap<Integer, Map<Long, List<FlowMod>>> rounds = new TreeMap<>();
    actual.forEach(
        (datapath, has) -> {
          List<Flow> wantedFlows = ForwardingFlows.of(trees, datapath, epoch);
          FlowDifference.between(has, wantedFlows).messages().stream()
              .filter(FlowMod.class::isInstance)
              .map(FlowMod.class::cast)
              .forEach(
                  mod ->
                      rounds
                          .computeIfAbsent(round(trees, datapath, mod), key -> new TreeMap<>())
                          .computeIfAbsent(datapath, key -> new ArrayList<>())
                          .add(mod));
        });
    return List.copyOf(rounds.values());
  }

  private static int round(Trees trees, long datapath, FlowMod mod) {
    return mod.kind() == Kind.DELETE
        ? Integer.MAX_VALUE
        : trees.hops(datapath).get(mod.flow().match().ethDst()).distance();
  }
}
