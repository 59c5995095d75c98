package io.tapline.sdn.controller;

import io.tapline.sdn.flow.SwitchMessage.FlowMod;
import io.tapline.sdn.forwarding.RouteObserver;
import io.tapline.sdn.forwarding.RouteVersion;
import io.tapline.sdn.forwarding.RouteVersion.Port;
import io.tapline.sdn.forwarding.RouteVersion.Route;
import io.tapline.sdn.forwarding.RouteVersion.Switch;
import io.tapline.sdn.forwarding.Trees;
import io.tapline.sdn.switches.Counter;
import io.tapline.sdn.switches.Counters;
import io.tapline.sdn.topology.SwitchPort;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.ToLongFunction;

/**
 * Announces routes to an observer: before switches change any, and after they have confirmed the
 * changes.
 *
 * <pre>
 *   announceChanges ──▶ confirmed ──▶ rounds of changes ──▶ announceResult
 * </pre>
 *
 * <p>Confined to the controller's thread.
 */
final class RouteAnnouncements {
  /**
   * Maximum time for which an observer that does not confirm can delay route changes, since
   * forwarding matters more than inferring ports.
   */
  private static final long PATIENCE_NS = 5_000_000_000L;

  /**
   * Maximum time for a copy to reach its monitor, including the wait in the mirror port's queue.
   */
  private static final long COPY_DELAY_NS = 50_000_000;

  private final Map<String, Long> datapaths;
  private final Map<Long, String> names = new HashMap<>();
  private final ToLongFunction<SwitchPort> speeds;
  private final Counters counters;
  private final AtomicLong confirmed = new AtomicLong();
  private RouteObserver observer = RouteObserver.NONE;
  private Set<String> wanted = Set.of();
  private Map<String, Switch> latest = Map.of();
  private long number;

  /** Number of the announcement that must be confirmed before switches may change; 0 for none. */
  private long awaited;

  private long awaitedSinceNs;
  private boolean settled = true;

  /**
   * Creates announcements without an observer.
   *
   * @param datapaths datapath IDs of switches by name
   * @param speeds returns the speed of a port's link in bits per second, 0 if it is unknown
   * @param epoch epoch of the controller; versions of later controllers have higher numbers
   */
  RouteAnnouncements(
      Map<String, Long> datapaths,
      ToLongFunction<SwitchPort> speeds,
      Counters counters,
      long epoch) {
    this.datapaths = datapaths;
    this.speeds = speeds;
    datapaths.forEach((name, datapath) -> names.put(datapath, name));
    this.counters = counters;
    this.number = epoch << 24;
  }

  void observe(RouteObserver newObserver) {
    observer = newObserver;
    latest = Map.of();
    outdated();
  }

  /** Records that the latest version may differ from the switches' routes. */
  void outdated() {
    settled = false;
  }

  /**
   * Announces the routes of the trees, and which of them the rounds will change, if they change a
   * switch that the observer needs. {@link #areConfirmed} then returns false until the observer
   * confirms the routes or times out.
   *
   * @param known switches whose flows are known
   */
  void announceChanges(
      Trees trees, Set<Long> known, Collection<Map<Long, List<FlowMod>>> rounds, long nowNs) {
    outdated();
    wanted = observer.switches();
    Map<Long, Set<Long>> changing = new HashMap<>();
    for (Map<Long, List<FlowMod>> round : rounds) {
      round.forEach(
          (datapath, mods) ->
              mods.forEach(
                  mod ->
                      changing
                          .computeIfAbsent(datapath, key -> new HashSet<>())
                          .add(mod.flow().match().ethDst())));
    }
    boolean concerned =
        wanted.stream().map(datapaths::get).anyMatch(datapath -> changing.containsKey(datapath));
    if (concerned) {
      awaited = announce(routes(trees, known, changing));
      awaitedSinceNs = nowNs;
    }
  }

  /** Returns true if switches may change their routes. */
  boolean areConfirmed(long nowNs) {
    if (awaited != 0 && nowNs - awaitedSinceNs > PATIENCE_NS) {
      counters.add(Counter.ROUTES_UNCONFIRMED, 1);
      awaited = 0;
    }
    return awaited <= confirmed.get();
  }

  /**
   * Announces the routes that switches have confirmed, unless the observer already knows them.
   *
   * @param known switches whose flows are known and confirmed
   */
  void announceResult(Trees trees, Set<Long> known) {
    if (settled && observer.switches().equals(wanted)) {
      return;
    }
    awaited = 0;
    settled = true;
    wanted = observer.switches();
    Map<String, Switch> routes = routes(trees, known, Map.of());
    if (!routes.equals(latest)) {
      announce(routes);
    }
  }

  boolean areSettled() {
    return settled;
  }

  private Map<String, Switch> routes(Trees trees, Set<Long> known, Map<Long, Set<Long>> changing) {
    Map<String, Switch> routes = new HashMap<>();
    for (String name : wanted) {
      Long datapath = datapaths.get(name);
      if (datapath != null && known.contains(datapath)) {
        Set<Long> changes = changing.getOrDefault(datapath, Set.of());
        List<Route> all = new ArrayList<>();
        trees
            .hops(datapath)
            .forEach((mac, hop) -> all.add(new Route(mac, hop.port(), changes.contains(mac))));
        routes.put(name, new Switch(all, ports(trees, datapath)));
      }
    }
    return routes;
  }

  private List<Port> ports(Trees trees, long datapath) {
    Map<Integer, SwitchPort> links = trees.links(datapath);
    Set<Integer> numbers = new TreeSet<>(links.keySet());
    trees.hops(datapath).values().forEach(hop -> numbers.add(hop.port()));
    List<Port> ports = new ArrayList<>();
    for (int number : numbers) {
      SwitchPort far = links.get(number);
      long speed = speeds.applyAsLong(new SwitchPort(datapath, number));
      ports.add(
          far == null
              ? new Port(number, speed, "", 0)
              : new Port(number, speed, names.get(far.datapath()), far.port()));
    }
    return ports;
  }

  private long announce(Map<String, Switch> routes) {
    latest = routes;
    long own = ++number;
    long settleNs = SwitchState.DATAPATH_FOLLOWS_NS + COPY_DELAY_NS;
    observer.announce(
        new RouteVersion(own, settleNs, routes), () -> confirmed.accumulateAndGet(own, Math::max));
    return own;
  }
}
