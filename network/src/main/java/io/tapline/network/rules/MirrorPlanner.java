package io.tapline.network.rules;

import io.tapline.network.EdgeSwitch;
import io.tapline.network.IpPrefix;
import io.tapline.schema.proto.Address;
import io.tapline.schema.proto.Match;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * Decides which switch mirrors which packets to which monitor. The edge switch at one end of a
 * query's connections mirrors both directions: the end that the query names, or TO. A packet that
 * matches a query in both directions would be mirrored at both ends; the switch that comes first in
 * the list mirrors it, and the other excludes it.
 */
public final class MirrorPlanner {
  /** The protocols with ports: TCP and UDP. */
  public static final Set<Integer> PORT_PROTOCOLS = Set.of(6, 17);

  /** The side whose edge switches mirror. */
  public enum Side {
    FROM,
    TO
  }

  /**
   * Maximum number of bits of a connection's far port that can be required to be zero. Sampling
   * depends on this many bits of the port (flow_hash.h).
   */
  public static final int MAX_ZEROS = 6;

  /**
   * A query to be mirrored.
   *
   * @param monitors the monitor for each switch, by switch ID; it gets copies from this switch only
   * @param zeros number of bits, from the second lowest, that must be zero in a connection's far
   *     port, the one at the FROM end; more than 0 only if {@link #canBeNarrowed}
   */
  public record Query(String id, Match match, Side side, Map<String, String> monitors, int zeros) {}

  private record Entry(IpPrefix prefix, PortMask port) {}

  private final List<EdgeSwitch> switches;

  private MirrorPlanner(List<EdgeSwitch> switches) {
    this.switches = switches;
  }

  /**
   * Returns the side whose switches mirror a match: FROM if its hosts are named and those of TO are
   * not; otherwise TO.
   */
  public static Side side(Match match) {
    boolean namesServer = isNamed(match.getToList());
    return !namesServer && isNamed(match.getFromList()) ? Side.FROM : Side.TO;
  }

  /** The lowest client port that Linux assigns by default; the IANA range begins higher. */
  private static final int FIRST_CLIENT_PORT = 32_768;

  /**
   * Returns true if switches can skip part of a match's connections by their far ports: TO names
   * only ports below those of clients, FROM names none, and the match has no tenants. With ports
   * that clients also use, a connection could match in both directions, and its far port would be
   * ambiguous.
   */
  public static boolean canBeNarrowed(Match match) {
    return match.getToCount() > 0
        && match.getToList().stream().allMatch(MirrorPlanner::namesServersPorts)
        && match.getFromList().stream().allMatch(address -> address.getPort() == 0)
        && match.getTenantsCount() == 0;
  }

  private static boolean namesServersPorts(Address address) {
    return address.getPort() != 0
        && Math.max(address.getPort(), address.getLastPort()) < FIRST_CLIENT_PORT;
  }

  private static boolean isNamed(List<Address> side) {
    return !side.isEmpty() && side.stream().noneMatch(a -> a.getPrefix().isEmpty());
  }

  /**
   * Returns the packets wanted at each switch, by switch ID; omits switches that mirror nothing.
   */
  public static Map<String, List<Wanted>> wanted(List<Query> queries, List<EdgeSwitch> switches) {
    Map<String, List<Wanted>> wanted = new LinkedHashMap<>();
    for (int i = 0; i < switches.size(); i++) {
      List<Wanted> here = new ArrayList<>();
      for (Query query : queries) {
        new MirrorPlanner(switches).add(query, i, here);
      }
      if (!here.isEmpty()) {
        wanted.put(switches.get(i).id(), here);
      }
    }
    return wanted;
  }

  private void add(Query query, int number, List<Wanted> here) {
    String monitor = query.monitors().get(switches.get(number).id());
    List<Entry> sources = entries(query.match().getFromList(), PortMask.zeros(query.zeros()));
    List<Entry> destinations = entries(query.match().getToList(), PortMask.ANY);
    List<Entry> own = under(query.side() == Side.TO ? destinations : sources, number);
    if (monitor == null || own.isEmpty()) {
      return;
    }
    for (RuleMatch match :
        query.side() == Side.TO ? pairs(sources, own) : pairs(own, destinations)) {
      bothWays(query, monitor, match, false, here);
    }
    for (int earlier = 0; earlier < number; earlier++) {
      if (query.monitors().containsKey(switches.get(earlier).id())) {
        except(query, monitor, sources, destinations, earlier, number, here);
      }
    }
  }

  /**
   * Excludes packets that match in both directions, between hosts under an earlier switch and hosts
   * under this one.
   */
  private void except(
      Query query,
      String monitor,
      List<Entry> sources,
      List<Entry> destinations,
      int earlier,
      int number,
      List<Wanted> here) {
    List<RuleMatch> forward = pairs(under(sources, earlier), under(destinations, number));
    List<RuleMatch> backward = pairs(under(destinations, earlier), under(sources, number));
    for (RuleMatch one : forward) {
      for (RuleMatch otherMatch : backward) {
        if (one.overlaps(otherMatch)) {
          bothWays(query, monitor, one.and(otherMatch), true, here);
        }
      }
    }
  }

  private static void bothWays(
      Query query, String monitor, RuleMatch match, boolean except, List<Wanted> here) {
    List<Integer> vlans =
        query.match().getVlansCount() == 0 ? List.of(0) : query.match().getVlansList();
    List<Integer> tenants =
        query.match().getTenantsCount() == 0 ? List.of(0) : query.match().getTenantsList();
    for (int vlan : vlans) {
      for (int tenant : tenants) {
        RuleMatch narrowed =
            new RuleMatch(
                match.from(),
                match.to(),
                match.protocol(),
                match.fromPort(),
                match.toPort(),
                vlan,
                tenant);
        here.add(new Wanted(query.id(), monitor, narrowed, except));
        here.add(new Wanted(query.id(), monitor, narrowed.reversed(), except));
      }
    }
  }

  private static List<RuleMatch> pairs(List<Entry> sources, List<Entry> destinations) {
    List<RuleMatch> pairs = new ArrayList<>();
    for (Entry a : sources) {
      for (Entry b : destinations) {
        boolean families =
            a.prefix().family() == 0
                || b.prefix().family() == 0
                || a.prefix().family() == b.prefix().family();
        boolean hasPorts = a.port().mask() != 0 || b.port().mask() != 0;
        for (int protocol :
            families && hasPorts ? PORT_PROTOCOLS : families ? Set.of(0) : Set.<Integer>of()) {
          pairs.add(new RuleMatch(a.prefix(), b.prefix(), protocol, a.port(), b.port(), 0, 0));
        }
      }
    }
    return pairs;
  }

  private static List<Entry> entries(List<Address> addresses, PortMask unnamed) {
    List<Entry> entries = new ArrayList<>();
    for (Address address : addresses) {
      IpPrefix prefix = IpPrefix.of(address.getPrefix());
      int last = Math.max(address.getPort(), address.getLastPort());
      List<PortMask> ports =
          address.getPort() == 0 ? List.of(unnamed) : PortMask.range(address.getPort(), last);
      ports.forEach(port -> entries.add(new Entry(prefix, port)));
    }
    return entries.isEmpty() ? List.of(new Entry(IpPrefix.ANY, unnamed)) : entries;
  }

  /** Returns the subset of the addresses that is under a switch. */
  private List<Entry> under(List<Entry> entries, int number) {
    List<Entry> under = new ArrayList<>();
    for (Entry entry : entries) {
      for (IpPrefix hosts : switches.get(number).hosts()) {
        if (entry.prefix().overlaps(hosts)) {
          under.add(new Entry(entry.prefix().and(hosts), entry.port()));
        }
      }
    }
    return under;
  }
}
