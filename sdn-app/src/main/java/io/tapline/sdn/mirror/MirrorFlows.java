package io.tapline.sdn.mirror;

import io.tapline.network.IpPrefix;
import io.tapline.network.rules.MirrorRule;
import io.tapline.network.rules.RuleMatch;
import io.tapline.network.rules.RuleTable;
import io.tapline.sdn.flow.Cookie;
import io.tapline.sdn.flow.Flow;
import io.tapline.sdn.flow.FlowAction;
import io.tapline.sdn.flow.FlowMatch;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;

/**
 * Converts a mirror table to flows, which send a copy to each monitor and pass the packet on to
 * forwarding unchanged.
 */
public final class MirrorFlows {
  /** The table before forwarding. */
  public static final int MIRROR_TABLE = 0;

  /** The table that forwards packets. */
  public static final int FORWARDING_TABLE = 1;

  /**
   * The priority of a mirror flow is this plus the number of bits that its match fixes, up to 340.
   */
  public static final int LOWEST_PRIORITY = 1000;

  /**
   * The flows of a switch.
   *
   * @param unresolved monitors whose port is unknown, which get no copies yet
   */
  public record Result(List<Flow> flows, TreeSet<String> unresolved) {}

  private MirrorFlows() {}

  /**
   * Converts a table to flows.
   *
   * @param ports ports by monitor
   */
  public static Result of(RuleTable table, Map<String, MirrorPort> ports, long epoch) {
    List<Flow> flows = new ArrayList<>();
    TreeSet<String> unresolved = new TreeSet<>();
    for (MirrorRule rule : table.rules()) {
      // Two monitors on one host are one process, so the host gets one copy.
      Set<MirrorPort> copies = new LinkedHashSet<>();
      for (String monitor : rule.monitors()) {
        MirrorPort port = ports.get(monitor);
        if (port == null) {
          unresolved.add(monitor);
        } else {
          copies.add(port);
        }
      }
      List<FlowAction> actions = copies.stream().flatMap(port -> port.actions().stream()).toList();
      for (RuleMatch match : families(rule.match())) {
        flows.add(
            new Flow(
                MIRROR_TABLE,
                LOWEST_PRIORITY + rule.priority(),
                FlowMatch.of(match),
                actions,
                FORWARDING_TABLE,
                Cookie.of(Cookie.Kind.MIRROR, epoch)));
      }
    }
    return new Result(flows, unresolved);
  }

  /** A match without addresses applies to IPv4 and IPv6. */
  private static List<RuleMatch> families(RuleMatch match) {
    if (match.from().family() != 0) {
      return List.of(match);
    }
    return List.of(inFamily(match, 4), inFamily(match, 6));
  }

  private static RuleMatch inFamily(RuleMatch match, int family) {
    IpPrefix all = IpPrefix.all(family);
    return new RuleMatch(
        all, all, match.protocol(), match.fromPort(), match.toPort(), match.vlan(), match.tenant());
  }
}
