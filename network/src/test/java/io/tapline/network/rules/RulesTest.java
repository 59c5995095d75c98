package io.tapline.network.rules;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.tapline.network.EdgeSwitch;
import io.tapline.network.IpPrefix;
import io.tapline.network.rules.MirrorPlanner.Query;
import io.tapline.network.rules.RuleMatch.Header;
import io.tapline.schema.proto.Address;
import io.tapline.schema.proto.Match;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.TreeSet;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Compares flow tables with a reference evaluation, for random queries, networks and packets. */
class RulesTest {
  private static final int CAPACITY = 4096;
  private static final Map<String, IpPrefix> PARSED = new HashMap<>();

  /** A network so small that queries often overlap and packets often match them. */
  private static final class World {
    final Random random;
    final List<EdgeSwitch> switches = new ArrayList<>();

    World(long seed) {
      random = new Random(seed);
      for (int s = 0; s < 2 + random.nextInt(3); s++) {
        List<IpPrefix> hosts = new ArrayList<>();
        for (int h = 0; h < 1 + random.nextInt(4); h++) {
          hosts.add(IpPrefix.of("10.0.%d.%d/%d".formatted(s, 4 * h, 30 + random.nextInt(3))));
        }
        if (random.nextInt(3) == 0) {
          hosts.add(IpPrefix.of("2001:db8:%d::/126".formatted(s)));
        }
        switches.add(new EdgeSwitch("s" + s, hosts));
      }
    }

    Query query(String id) {
      Match.Builder match = Match.newBuilder();
      int shape = random.nextInt(4);
      if (shape != 1) {
        addresses().forEach(match::addTo);
      }
      if (shape > 0) {
        addresses().forEach(match::addFrom);
      }
      if (random.nextInt(6) == 0) {
        match.addVlans(1 + random.nextInt(2));
      }
      if (random.nextInt(6) == 0) {
        match.addTenants(7);
      }
      Map<String, String> monitors = new HashMap<>();
      int shared = random.nextInt(2);
      for (EdgeSwitch edge : switches) {
        monitors.put(edge.id(), edge.id() + "-m" + shared);
      }
      return new Query(id, match.build(), MirrorPlanner.side(match.build()), monitors, 0);
    }

    private List<Address> addresses() {
      List<Address> addresses = new ArrayList<>();
      for (int i = 0; i < 1 + random.nextInt(3); i++) {
        Address.Builder address = Address.newBuilder();
        switch (random.nextInt(7)) {
          case 0 -> address.setPrefix("");
          case 1 -> address.setPrefix("10.0.0.0/" + (14 + random.nextInt(10)));
          case 2 -> address.setPrefix("2001:db8::/32");
          default ->
              address.setPrefix(
                  IpPrefix.of(
                          "10.0.%d.%d/%d"
                              .formatted(
                                  random.nextInt(4), random.nextInt(16), 24 + random.nextInt(9)))
                      .toString());
        }
        if (random.nextInt(2) == 0) {
          address.setPort(1 + random.nextInt(6));
          if (random.nextInt(2) == 0) {
            address.setLastPort(address.getPort() + 1 + random.nextInt(5));
          }
        }
        addresses.add(address.build());
      }
      return addresses;
    }

    Header header() {
      boolean isV6 = random.nextInt(8) == 0;
      return new Header(
          address(isV6),
          address(isV6),
          random.nextInt(8) == 0 ? 1 : random.nextBoolean() ? 6 : 17,
          random.nextInt(12),
          random.nextInt(12),
          random.nextInt(3),
          random.nextInt(3) == 0 ? 7 : 0);
    }

    /** Returns the address of a random host, or one that belongs to no host. */
    private IpPrefix address(boolean isV6) {
      return isV6
          ? IpPrefix.of("2001:db8:%d::%d".formatted(random.nextInt(4), random.nextInt(5)))
          : IpPrefix.of("10.0.%d.%d".formatted(random.nextInt(5), random.nextInt(18)));
    }

    int switchOf(IpPrefix address) {
      for (int s = 0; s < switches.size(); s++) {
        if (switches.get(s).hosts().stream().anyMatch(hosts -> hosts.covers(address))) {
          return s;
        }
      }
      return -1;
    }
  }

  // The reference evaluation shares no code with the planner.

  private static boolean covers(List<Address> side, IpPrefix address, int port, boolean hasPorts) {
    if (side.isEmpty()) {
      return true;
    }
    for (Address one : side) {
      int last = Math.max(one.getPort(), one.getLastPort());
      boolean ports = one.getPort() == 0 || hasPorts && port >= one.getPort() && port <= last;
      if (ports && inside(one.getPrefix(), address)) {
        return true;
      }
    }
    return false;
  }

  private static boolean inside(String prefix, IpPrefix address) {
    if (prefix.isEmpty()) {
      return true;
    }
    IpPrefix p = PARSED.computeIfAbsent(prefix, IpPrefix::of);
    boolean isSame = p.family() == address.family();
    for (int bit = 0; isSame && bit < p.length(); bit++) {
      isSame = bit(p, bit) == bit(address, bit);
    }
    return isSame;
  }

  private static long bit(IpPrefix address, int bit) {
    return (bit < 64 ? address.high() : address.low()) >> 63 - bit % 64 & 1;
  }

  private static boolean fits(Match match, Header h, boolean isForward) {
    boolean hasPorts = h.protocol() == 6 || h.protocol() == 17;
    IpPrefix client = isForward ? h.from() : h.to();
    IpPrefix server = isForward ? h.to() : h.from();
    int clientPort = isForward ? h.fromPort() : h.toPort();
    int serverPort = isForward ? h.toPort() : h.fromPort();
    return covers(match.getFromList(), client, clientPort, hasPorts)
        && covers(match.getToList(), server, serverPort, hasPorts)
        && (match.getVlansCount() == 0 || match.getVlansList().contains(h.vlan()))
        && (match.getTenantsCount() == 0 || match.getTenantsList().contains(h.tenant()));
  }

  /** Returns the switch that must mirror a packet for a query; -1 if there is none. */
  private static int owner(World world, Query query, Header h) {
    int sourceSwitch = world.switchOf(h.from());
    int destinationSwitch = world.switchOf(h.to());
    boolean toSide = query.side() == MirrorPlanner.Side.TO;
    int forward = fits(query.match(), h, true) ? (toSide ? destinationSwitch : sourceSwitch) : -1;
    int backward = fits(query.match(), h, false) ? (toSide ? sourceSwitch : destinationSwitch) : -1;
    return forward < 0 || backward < 0 ? Math.max(forward, backward) : Math.min(forward, backward);
  }

  private static Set<String> expected(World world, List<Query> queries, Header h, int number) {
    Set<String> monitors = new TreeSet<>();
    for (Query query : queries) {
      if (owner(world, query, h) == number) {
        monitors.add(query.monitors().get(world.switches.get(number).id()));
      }
    }
    return monitors;
  }

  private static RuleTable table(World world, List<Query> queries, int number) {
    String id = world.switches.get(number).id();
    return RuleTable.of(
        MirrorPlanner.wanted(queries, world.switches).getOrDefault(id, List.of()), CAPACITY);
  }

  /** Tests 4 x 100 worlds with 60 packets each, which makes 24,000 packets. */
  @ParameterizedTest
  @ValueSource(ints = {0, 1, 2, 3})
  void everyPacketLeavesOnceForEachMonitorThatNeedsIt(int part) {
    int copies = 0;
    for (int seed = 100 * part; seed < 100 * part + 100; seed++) {
      World world = new World(seed);
      List<Query> queries = new ArrayList<>();
      for (int q = 0; q < 1 + world.random.nextInt(3); q++) {
        queries.add(world.query("q" + q));
      }
      List<RuleTable> tables = new ArrayList<>();
      for (int s = 0; s < world.switches.size(); s++) {
        tables.add(table(world, queries, s));
      }
      for (int i = 0; i < 60; i++) {
        Header h = world.header();
        for (int s = 0; s < tables.size(); s++) {
          boolean passes = s == world.switchOf(h.from()) || s == world.switchOf(h.to());
          if (passes) {
            Set<String> monitors = tables.get(s).monitors(h);
            assertThat(monitors)
                .as("seed %d, %s at s%d", seed, h, s)
                .isEqualTo(expected(world, queries, h, s));
            copies += monitors.size();
          }
        }
      }
    }
    assertThat(copies).isGreaterThan(400);
  }

  /** Returns the far port by which the monitor at the owning switch samples a connection. */
  private static int farPort(World world, Query query, Header h, int owner) {
    boolean toSide = query.side() == MirrorPlanner.Side.TO;
    int sourceSwitch = world.switchOf(h.from());
    int destinationSwitch = world.switchOf(h.to());
    boolean isForward =
        fits(query.match(), h, true) && (toSide ? destinationSwitch : sourceSwitch) == owner;
    boolean isBackward =
        fits(query.match(), h, false) && (toSide ? sourceSwitch : destinationSwitch) == owner;
    return isForward && isBackward
        ? Math.max(h.fromPort(), h.toPort())
        : isForward ? h.fromPort() : h.toPort();
  }

  @Test
  void onlyPortsWithoutClientsIdentifyTheFarSide() {
    assertThat(canBeNarrowed(80, 0)).isTrue();
    assertThat(canBeNarrowed(20_000, 20_199)).isTrue();
    assertThat(canBeNarrowed(50_051, 0)).isFalse();
    assertThat(canBeNarrowed(1024, 65_535)).isFalse();
    assertThat(canBeNarrowed(0, 0)).isFalse();
  }

  private static boolean canBeNarrowed(int port, int lastPort) {
    Address destination = Address.newBuilder().setPort(port).setLastPort(lastPort).build();
    return MirrorPlanner.canBeNarrowed(Match.newBuilder().addTo(destination).build());
  }

  /**
   * For a narrowed query, a monitor receives all packets that it keeps. Packets with the zeros in
   * neither port are not copied. Other queries are unaffected.
   */
  @Test
  void aNarrowedQueryGetsThePacketsThatItsMonitorsKeep() {
    int[] counts = new int[2];
    for (int seed = 0; seed < 2_000; seed++) {
      World world = new World(seed);
      Query wholeQuery = world.query("q");
      if (!MirrorPlanner.canBeNarrowed(wholeQuery.match())) {
        continue;
      }
      int zeros = 1 + world.random.nextInt(2);
      Query query =
          new Query("q", wholeQuery.match(), wholeQuery.side(), wholeQuery.monitors(), zeros);
      Query otherQuery = world.query("p");
      for (int i = 0; i < 60; i++) {
        Header h = world.header();
        int owner = owner(world, query, h);
        for (int s = 0; s < world.switches.size(); s++) {
          boolean wasCopied = !table(world, List.of(query), s).monitors(h).isEmpty();
          if (s == owner && (farPort(world, query, h, s) >> 1 & ((1 << zeros) - 1)) == 0) {
            assertThat(wasCopied).as("kept: seed %d, %s at s%d", seed, h, s).isTrue();
            counts[0]++;
          }
          int either = (h.fromPort() >> 1 & ((1 << zeros) - 1)) == 0 ? 0 : h.toPort() >> 1;
          if ((either & ((1 << zeros) - 1)) != 0) {
            assertThat(wasCopied).as("left out: seed %d, %s at s%d", seed, h, s).isFalse();
            counts[1] += s == owner ? 1 : 0;
          }
          assertThat(table(world, List.of(query, otherQuery), s).monitors(h))
              .as("another query: seed %d, %s at s%d", seed, h, s)
              .containsAll(expected(world, List.of(otherQuery), h, s));
        }
      }
    }
    assertThat(counts).satisfies(c -> assertThat(Math.min(c[0], c[1])).isGreaterThan(50));
  }

  /**
   * After each message to a switch, each packet is treated as either the old or the new queries
   * require.
   */
  @ParameterizedTest
  @ValueSource(ints = {0, 1, 2, 3})
  void everyStepIsSafe(int part) {
    int steps = 0;
    for (int seed = 1000 + 25 * part; seed < 1025 + 25 * part; seed++) {
      World world = new World(seed);
      List<Query> queries = new ArrayList<>();
      RuleTable table = RuleTable.empty();
      for (int change = 0; change < 4; change++) {
        List<Query> next = new ArrayList<>(queries);
        if (next.size() > 1 && world.random.nextBoolean()) {
          next.remove(world.random.nextInt(next.size()));
        } else {
          next.add(world.query("q" + change));
        }
        RuleTable newTable = table(world, next, 0);
        List<Header> headers = new ArrayList<>();
        for (int i = 0; i < 20; i++) {
          headers.add(world.header());
        }
        for (Transition.Step step : Transition.steps(table, newTable, 2 * CAPACITY)) {
          table = Transition.apply(table, step);
          steps++;
          for (Header h : headers) {
            if (world.switchOf(h.from()) == 0 || world.switchOf(h.to()) == 0) {
              assertThat(table.monitors(h))
                  .as("seed %d, %s", seed, h)
                  .isIn(expected(world, queries, h, 0), expected(world, next, h, 0));
            }
          }
        }
        assertThat(table.rules()).isEqualTo(newTable.rules());
        queries = next;
      }
      for (Transition.Step step : Transition.steps(table, RuleTable.empty(), 2 * CAPACITY)) {
        table = Transition.apply(table, step);
      }
      assertThat(table.rules()).isEmpty();
    }
    assertThat(steps).isGreaterThan(300);
  }

  @Test
  void aRuleIsRemovedWithItsLastOwner() {
    RuleMatch match =
        new RuleMatch(
            IpPrefix.ANY, IpPrefix.of("10.0.0.1"), 6, PortMask.ANY, PortMask.of(80), 0, 0);
    Wanted one = new Wanted("q1", "m", match);
    Wanted two = new Wanted("q2", "m", match);
    RuleTable bothTable = RuleTable.of(List.of(one, two), 10);
    RuleTable last = RuleTable.of(List.of(two), 10);
    assertThat(bothTable.rules())
        .singleElement()
        .extracting(MirrorRule::owners)
        .hasToString("[q1, q2]");
    assertThat(Transition.steps(bothTable, last, 10))
        .singleElement()
        .extracting(Transition.Step::kind)
        .isEqualTo(Transition.Kind.MODIFY);
    assertThat(Transition.steps(last, RuleTable.empty(), 10))
        .singleElement()
        .extracting(Transition.Step::kind)
        .isEqualTo(Transition.Kind.DELETE);
  }

  @Test
  void aFullTableIsRejected() {
    List<Wanted> wanted = new ArrayList<>();
    for (int i = 0; i < 20; i += 2) {
      IpPrefix host = IpPrefix.of("10.0.0." + i);
      wanted.add(
          new Wanted(
              "q", "m", new RuleMatch(IpPrefix.ANY, host, 0, PortMask.ANY, PortMask.ANY, 0, 0)));
    }
    assertThat(RuleTable.of(wanted, 10).rules()).hasSize(10);
    assertThatThrownBy(() -> RuleTable.of(wanted, 9))
        .isInstanceOf(TooManyRules.class)
        .hasMessage(
            "the queries need 10 mirror rules, but the switch has room for 9: use subnets instead of"
                + " single hosts, or stop a query");
    RuleTable table = RuleTable.of(wanted, 10);
    assertThatThrownBy(() -> Transition.steps(table, RuleTable.of(wanted.subList(0, 1), 10), 9))
        .isInstanceOf(TooManyRules.class)
        .hasMessageContaining("the change temporarily needs");
  }

  @Test
  void portRangesBecomeFewMasks() {
    for (int first = 0; first < 70; first++) {
      for (int last = first; last < 70; last++) {
        List<PortMask> masks = PortMask.range(first, last);
        for (int port = 0; port < 80; port++) {
          int number = port;
          long covering = masks.stream().filter(mask -> mask.covers(number)).count();
          assertThat(covering).isEqualTo(port >= first && port <= last ? 1 : 0);
        }
      }
    }
    assertThat(PortMask.range(8000, 8063)).hasSize(1);
    assertThat(PortMask.range(1024, 65535)).hasSize(6);
    assertThat(PortMask.range(1, 65535)).hasSize(16);
  }

  /**
   * Adjacent addresses and ports share rules, so that not every pair and direction needs a rule.
   */
  @Test
  void rulesAreFewerThanPairs() {
    List<IpPrefix> rack = new ArrayList<>();
    for (int h = 0; h < 64; h++) {
      rack.add(IpPrefix.of("10.1.0." + h));
    }
    List<EdgeSwitch> switches = List.of(new EdgeSwitch("s", rack));
    assertThat(count("* -> 10.1.0.0/26:80", switches)).isEqualTo(4);
    assertThat(count("10.2.0.0/24 -> 10.1.0.0/26", switches)).isEqualTo(2);
    assertThat(count("* -> 10.1.0.0/26:8000-8063", switches)).isEqualTo(4);
    assertThat(count("* -> 10.1.0.0/27", switches)).isEqualTo(2);
    assertThat(count("* -> 10.1.0.5", switches)).isEqualTo(2);
  }

  private static int count(String query, List<EdgeSwitch> switches) {
    String[] sides = query.split(" -> ");
    Match.Builder match = Match.newBuilder().addTo(address(sides[1]));
    if (!sides[0].equals("*")) {
      match.addFrom(address(sides[0]));
    }
    Query one = new Query("q", match.build(), MirrorPlanner.Side.TO, Map.of("s", "m"), 0);
    return RuleTable.of(MirrorPlanner.wanted(List.of(one), switches).get("s"), CAPACITY)
        .rules()
        .size();
  }

  private static Address address(String text) {
    String[] parts = text.split(":");
    Address.Builder address = Address.newBuilder().setPrefix(parts[0]);
    if (parts.length > 1) {
      String[] ports = parts[1].split("-");
      address.setPort(Integer.parseInt(ports[0]));
      if (ports.length > 1) {
        address.setLastPort(Integer.parseInt(ports[1]));
      }
    }
    return address.build();
  }
}
