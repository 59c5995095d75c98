package io.tapline.control.registry;

import io.tapline.schema.rpc.AgentHello;
import io.tapline.schema.rpc.MonitorStatus;
import io.tapline.schema.rpc.Route;
import io.tapline.schema.rpc.RoutesCommand;
import io.tapline.schema.rpc.SwitchPort;
import io.tapline.schema.rpc.SwitchRoutes;
import io.tapline.schema.rpc.Tap;
import io.tapline.sdn.forwarding.RouteVersion;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.function.Consumer;
import java.util.stream.Collectors;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The routes of the switches that one host taps, as its monitor knows them. A host that loses its
 * lease drops them before the lease would have expired. Confined to the registry's thread.
 */
final class AgentRoutes {
  private static final Logger LOG = LoggerFactory.getLogger(AgentRoutes.class);

  /**
   * Maximum number of routes in a command, where a port counts as {@link #ROUTES_PER_PORT} routes:
   * messages to monitors have at most 192 KiB.
   */
  private static final int MAX_PART = 4096;

  /** Number of routes that take as much room in a command as a port. */
  private static final int ROUTES_PER_PORT = 4;

  private final String agent;
  private final long leaseNs;
  private final Consumer<RoutesCommand> send;
  private Set<String> switches = Set.of();
  private boolean connected;
  private long lostAtNs = System.nanoTime();
  private RouteVersion wanted;
  private long confirmed;

  /**
   * Creates the routes of a host without a lease.
   *
   * @param send sends a command to the host
   */
  AgentRoutes(String agent, long leaseNs, Consumer<RoutesCommand> send) {
    this.agent = agent;
    this.leaseNs = leaseNs;
    this.send = send;
  }

  /** Returns the names of the switches whose routes the host needs. */
  Set<String> switches() {
    return switches;
  }

  void connected(AgentHello hello) {
    connected = true;
    confirmed = 0;
    switches =
        hello.getTakesRoutes()
            ? hello.getTapsList().stream()
                .map(Tap::getSwitchName)
                .filter(name -> !name.isEmpty())
                .collect(Collectors.toCollection(TreeSet::new))
            : Set.of();
  }

  void disconnected() {
    connected = false;
    lostAtNs = System.nanoTime();
  }

  /** Sets the latest routes; sends the host those of its switches if it has a lease. */
  void set(RouteVersion routes) {
    wanted = routes;
    if (connected && !switches.isEmpty()) {
      commands(routes).forEach(send);
    }
  }

  private List<RoutesCommand> commands(RouteVersion routes) {
    List<RoutesCommand> commands = new ArrayList<>();
    RoutesCommand.Builder next = command(routes);
    int room = MAX_PART;
    for (String name : switches) {
      RouteVersion.Switch all = routes.switches().get(name);
      if (all == null) {
        continue;
      }
      SwitchRoutes.Builder part = next.addSwitchesBuilder().setName(name);
      for (int i = 0; i < all.routes().size() + all.ports().size(); i++) {
        boolean isRoute = i < all.routes().size();
        int size = isRoute ? 1 : ROUTES_PER_PORT;
        if (room < size) {
          commands.add(next.setMore(true).build());
          next = command(routes);
          part = next.addSwitchesBuilder().setName(name);
          room = MAX_PART;
        }
        room -= size;
        if (isRoute) {
          part.addRoutes(route(all.routes().get(i)));
        } else {
          part.addPorts(port(all.ports().get(i - all.routes().size())));
        }
      }
    }
    commands.add(next.build());
    return commands;
  }

  private static RoutesCommand.Builder command(RouteVersion routes) {
    return RoutesCommand.newBuilder().setVersion(routes.number()).setSettleNs(routes.settleNs());
  }

  private static Route.Builder route(RouteVersion.Route route) {
    return Route.newBuilder()
        .setMac(route.mac())
        .addPorts(route.port())
        .setChanging(route.changing());
  }

  private static SwitchPort.Builder port(RouteVersion.Port port) {
    return SwitchPort.newBuilder()
        .setNumber(port.number())
        .setBitsPerSecond(port.bitsPerSecond())
        .setNeighbour(port.neighbour())
        .setNeighbourPort(port.neighbourPort());
  }

  /** Records the host's response. A monitor that refuses a version uses no routes at all. */
  void answered(MonitorStatus.Routes answer) {
    confirmed = answer.getVersion();
    if (!answer.getMessage().isEmpty()) {
      LOG.warn("agent {} infers no ports: {}", agent, answer.getMessage());
    }
  }

  /** Returns true if the host does not use routes that are older than the latest version. */
  boolean isUpToDate() {
    if (!connected) {
      return System.nanoTime() - lostAtNs > leaseNs;
    }
    return switches.isEmpty() || wanted == null || confirmed == wanted.number();
  }
}
