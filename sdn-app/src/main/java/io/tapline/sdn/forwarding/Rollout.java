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
 * How forwarding changes in a network whose switches can't all change at once: in rounds, each of
 * which begins when all switches have done the one before. For each host the switches nearest to it
 * change first. So a packet follows its old tree until it comes to a switch that has changed, and
 * from there on the new one, of which all the rest has changed: there is never a loop, and where
 * old and new way both lead to the host all those between do. Flows for hosts that are gone go
 * last.
 */
public final class Rollout {
  private Rollout() {}

  /**
   * The rounds.
   *
   * @param actual by switch, the forwarding flows that it has; a switch that is not here can't be
   *     told anything
   * @return by switch, what it is told in each round
   */
  public static List<Map<Long, List<FlowMod>>> rounds(
      Map<Long, ? extends Collection<Flow>> actual, Trees trees, long epoch) {
    TreeMap<Integer, Map<Long, List<FlowMod>>> rounds = new TreeMap<>();
    actual.forEach(
        (datapath, has) -> {
          List<Flow> wanted = ForwardingFlows.of(trees, datapath, epoch);
          FlowDifference.between(has, wanted).messages().stream()
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
