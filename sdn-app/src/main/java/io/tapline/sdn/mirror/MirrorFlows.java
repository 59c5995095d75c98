package io.tapline.sdn.mirror;

import io.tapline.network.IpPrefix;
import io.tapline.network.rules.CopyMark;
import io.tapline.network.rules.MirrorRule;
import io.tapline.network.rules.RuleMatch;
import io.tapline.network.rules.RuleTable;
import io.tapline.sdn.flow.Cookie;
import io.tapline.sdn.flow.Flow;
import io.tapline.sdn.flow.FlowAction;
import io.tapline.sdn.flow.FlowKey;
import io.tapline.sdn.flow.FlowMatch;
import io.tapline.sdn.flow.TcpFlags;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.OptionalInt;
import java.util.Set;
import java.util.SortedSet;
import java.util.TreeSet;

/**
 * Converts a mirror table to flows, which send a copy to each monitor and pass the packet on to
 * forwarding unchanged.
 *
 * <p>A rule that names ports of the switch becomes one flow per host whose packets cross these
 * ports, since forwarding depends only on the destination address. The address is therefore known,
 * and is restored after the copies have been marked.
 *
 * <p>Where a mirror port has a separate queue for segments that open or end TCP connections, a flow
 * becomes up to three, highest priority first:
 *
 * <pre>
 *   TCP without SYN, FIN, RST    queue of all copies
 *   TCP                          separate queue
 *   IP                           queue of all copies
 * </pre>
 */
public final class MirrorFlows {
  /** Number of the table that mirrors packets before they are forwarded. */
  public static final int MIRROR_TABLE = 0;

  /** Number of the table that forwards packets. */
  public static final int FORWARDING_TABLE = 1;

  /**
   * Base of the priorities of mirror flows. A flow's priority is this base, plus three for each bit
   * that its rule fixes (fewer than 420), plus 0 to 2 to order the flows of a rule.
   */
  public static final int LOWEST_PRIORITY = 1000;

  private static final int FLOWS_OF_A_RULE = 3;
  private static final int TCP = 6;

  /**
   * Priority of flows for marked copies that cross the switch, so that these are not mirrored
   * again.
   */
  private static final int TRANSIT_PRIORITY = 40_000;

  /**
   * The flows for a switch.
   *
   * @param unresolved monitors whose port is unknown, which get no copies yet
   * @param unknownPorts ports that rules name but that are unknown, so that these rules copy
   *     nothing
   */
  public record Result(
      List<Flow> flows, TreeSet<String> unresolved, TreeSet<String> unknownPorts) {}

  private final Map<String, MirrorPort> monitors;
  private final PortLookup ports;
  private final long cookie;
  private final Map<FlowKey, Flow> flows = new LinkedHashMap<>();
  private final TreeSet<String> unresolved = new TreeSet<>();
  private final TreeSet<String> unknownPorts = new TreeSet<>();

  private MirrorFlows(Map<String, MirrorPort> monitors, PortLookup ports, long epoch) {
    this.monitors = monitors;
    this.ports = ports;
    this.cookie = Cookie.of(Cookie.Kind.MIRROR, epoch);
  }

  /**
   * Converts a table to flows.
   *
   * @param monitors ports by monitor
   * @param ports the switch's ports
   */
  public static Result of(
      RuleTable table, Map<String, MirrorPort> monitors, PortLookup ports, long epoch) {
    MirrorFlows madeFlows = new MirrorFlows(monitors, ports, epoch);
    table.rules().forEach(madeFlows::add);
    table.rules().stream().filter(rule -> rule.match().hasPort()).forEach(madeFlows::addReturns);
    return new Result(
        List.copyOf(madeFlows.flows.values()), madeFlows.unresolved, madeFlows.unknownPorts);
  }

  /** Converts a table that names no ports of the switch. */
  public static Result of(RuleTable table, Map<String, MirrorPort> monitors, long epoch) {
    return of(table, monitors, PortLookup.UNKNOWN, epoch);
  }

  /** Returns the flow that passes marked copies on to the next switch, or to their monitor. */
  public static Flow transit(MirrorPort target, long epoch) {
    List<FlowAction> actions = target.marked(0).actions(FlowMatch.ANY_PORT, false);
    return new Flow(
        MIRROR_TABLE,
        TRANSIT_PRIORITY,
        FlowMatch.to(target.mark()),
        actions,
        Flow.NO_TABLE,
        Cookie.of(Cookie.Kind.MIRROR, epoch));
  }

  private void add(MirrorRule rule) {
    RuleMatch match = rule.match();
    Set<MirrorPort> copies = copies(rule);
    if (!match.hasPort()) {
      put(rule.priority(), FlowMatch.ANY_PORT, FlowMatch.ANY_MAC, match, copies, false);
      return;
    }
    OptionalInt in = number(match.in());
    OptionalInt out = number(match.out());
    if (in.isPresent() && out.isPresent()) {
      for (long mac : destinations(in.getAsInt(), out.getAsInt())) {
        put(rule.priority(), in.getAsInt(), mac, match, copies, false);
      }
    }
  }

  /**
   * Adds flows for packets that came in through the port to which their copies go, since a switch
   * sends packets back only if an action names IN_PORT. Collectors, whose copies name ports, send
   * no packets.
   */
  private void addReturns(MirrorRule rule) {
    OptionalInt out = number(rule.match().out());
    if (!rule.match().in().isEmpty() || out.isEmpty()) {
      return;
    }
    Set<MirrorPort> copies = copies(rule);
    for (MirrorPort copy : copies) {
      if (copy.isMarked() && !CopyMark.isPorts(copy.mark())) {
        int priority = rule.priority() + RuleMatch.entering("any").bits();
        for (long mac : destinations(FlowMatch.ANY_PORT, out.getAsInt())) {
          put(priority, copy.port(), mac, rule.match(), copies, true);
        }
      }
    }
  }

  /**
   * Returns the ports to which a rule sends copies, each once, since all monitors on one host are
   * one process. Ports for marked copies come last.
   */
  private Set<MirrorPort> copies(MirrorRule rule) {
    Set<MirrorPort> plainPorts = new LinkedHashSet<>();
    Set<MirrorPort> marked = new LinkedHashSet<>();
    for (String monitor : rule.monitors()) {
      MirrorPort port = monitors.get(monitor);
      if (port == null) {
        unresolved.add(monitor);
      } else {
        (port.isMarked() ? marked : plainPorts).add(port);
      }
    }
    plainPorts.addAll(marked);
    return plainPorts;
  }

  /**
   * Returns a port's number; {@link FlowMatch#ANY_PORT} if the name is empty, and nothing if the
   * port is unknown.
   */
  private OptionalInt number(String port) {
    if (port.isEmpty()) {
      return OptionalInt.of(FlowMatch.ANY_PORT);
    }
    OptionalInt number = ports.number(port);
    if (number.isEmpty()) {
      unknownPorts.add(port);
    }
    return number;
  }

  private SortedSet<Long> destinations(int in, int out) {
    if (in == FlowMatch.ANY_PORT) {
      return ports.leaving(out);
    }
    SortedSet<Long> both = new TreeSet<>(ports.entering(in));
    if (out != FlowMatch.ANY_PORT) {
      both.retainAll(ports.leaving(out));
    }
    return both;
  }

  private void put(
      int priority,
      int inPort,
      long mac,
      RuleMatch match,
      Set<MirrorPort> copies,
      boolean ifAbsent) {
    List<FlowAction> actions = actions(inPort, mac, copies, false);
    List<FlowAction> preferred = actions(inPort, mac, copies, true);
    int lowest = LOWEST_PRIORITY + FLOWS_OF_A_RULE * priority;
    for (RuleMatch family : families(match.through("", ""))) {
      boolean separate =
          copies.stream().anyMatch(MirrorPort::hasPreferred)
              && (family.protocol() == 0 || family.protocol() == TCP);
      if (!separate || family.protocol() == 0) {
        put(lowest, FlowMatch.of(inPort, mac, family), actions, ifAbsent);
      }
      if (separate) {
        FlowMatch tcp = FlowMatch.of(inPort, mac, ofTcp(family));
        put(lowest + 1, tcp, preferred, ifAbsent);
        put(lowest + 2, tcp.with(TcpFlags.DATA), actions, ifAbsent);
      }
    }
  }

  private static List<FlowAction> actions(
      int inPort, long mac, Set<MirrorPort> copies, boolean preferred) {
    List<FlowAction> actions = new ArrayList<>();
    copies.forEach(copy -> actions.addAll(copy.actions(inPort, preferred)));
    if (copies.stream().anyMatch(MirrorPort::isMarked)) {
      actions.add(new FlowAction.SetEthDst(mac));
    }
    return actions;
  }

  private void put(int priority, FlowMatch match, List<FlowAction> actions, boolean ifAbsent) {
    Flow flow = new Flow(MIRROR_TABLE, priority, match, actions, FORWARDING_TABLE, cookie);
    if (ifAbsent) {
      flows.putIfAbsent(flow.key(), flow);
    } else {
      flows.put(flow.key(), flow);
    }
  }

  /**
   * Returns the match for each address family: a match without addresses applies to IPv4 and IPv6.
   */
  private static List<RuleMatch> families(RuleMatch match) {
    if (match.from().family() != 0) {
      return List.of(match);
    }
    return List.of(inFamily(match, 4), inFamily(match, 6));
  }

  private static RuleMatch ofTcp(RuleMatch match) {
    return new RuleMatch(
        match.from(),
        match.to(),
        TCP,
        match.fromPort(),
        match.toPort(),
        match.vlan(),
        match.tenant());
  }

  private static RuleMatch inFamily(RuleMatch match, int family) {
    IpPrefix all = IpPrefix.all(family);
    return new RuleMatch(
        all, all, match.protocol(), match.fromPort(), match.toPort(), match.vlan(), match.tenant());
  }
}
