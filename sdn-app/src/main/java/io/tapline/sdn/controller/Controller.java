package io.tapline.sdn.controller;

import io.tapline.sdn.flow.Cookie;
import io.tapline.sdn.flow.Flow;
import io.tapline.sdn.flow.FlowAction;
import io.tapline.sdn.flow.FlowMatch;
import io.tapline.sdn.flow.ObservedFlow;
import io.tapline.sdn.forwarding.RouteObserver;
import io.tapline.sdn.forwarding.Trees;
import io.tapline.sdn.mirror.CopyFormat;
import io.tapline.sdn.mirror.MirrorCount;
import io.tapline.sdn.mirror.MirrorReport;
import io.tapline.sdn.mirror.MirrorState;
import io.tapline.sdn.mirror.NetworkAdapter;
import io.tapline.sdn.mirror.NetworkStatus;
import io.tapline.sdn.openflow.OpenFlowServer;
import io.tapline.sdn.switches.Counter;
import io.tapline.sdn.switches.Counters;
import io.tapline.sdn.switches.PortCounters;
import io.tapline.sdn.switches.PortState;
import io.tapline.sdn.switches.SwitchConnection;
import io.tapline.sdn.switches.SwitchListener;
import io.tapline.sdn.topology.Lldp;
import io.tapline.sdn.topology.SwitchPort;
import java.io.IOException;
import java.security.SecureRandom;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.function.Predicate;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Tapline's OpenFlow controller. All its state is confined to one thread, that of {@link
 * OpenFlowServer}; any other thread may call its public methods.
 *
 * <p>The controller stores nothing on disk. After a restart, it recovers its state from the
 * switches' flows, and leaves forwarding unchanged until links are discovered again.
 */
public final class Controller implements NetworkAdapter {
  private static final Logger LOG = LoggerFactory.getLogger(Controller.class);
  private static final int KEY_BYTES = 32;
  private static final int MAX_PROBES_PER_ROUND = 64;
  private static final int HELLOS_PER_PROBE = 5;

  private final ControllerOptions options;
  private final Counters counters = new Counters();
  private final NetworkView view;
  private final Discovery discovery;
  private final RouteAnnouncements routes;
  private final Forwarder forwarder;
  private final Mirroring mirroring;
  private final CountReads countReads = new CountReads();
  private final OpenFlowServer server;
  private long lastHelloNs;
  private long hellos;

  private Controller(ControllerOptions options) throws IOException {
    long nowNs = System.nanoTime();
    byte[] key = new byte[KEY_BYTES];
    new SecureRandom().nextBytes(key);
    this.options = options;
    this.view = new NetworkView(options, nowNs);
    this.discovery = new Discovery(new Lldp(key), view.links, view.hosts, view, counters, nowNs);
    this.routes =
        new RouteAnnouncements(
            options.map().datapaths(), view::linkSpeed, counters, options.epoch());
    this.forwarder =
        new Forwarder(view.switches, view.links, view.hosts, counters, routes, options.epoch());
    this.mirroring = new Mirroring(view, options.map(), forwarder::trees, options.epoch());
    this.server =
        OpenFlowServer.start(
            options.address(), options.tls(), new Events(), counters, options.limits());
  }

  /** Starts a controller. */
  public static Controller start(ControllerOptions options) throws IOException {
    return new Controller(options);
  }

  public int port() {
    return server.port();
  }

  public Counters counters() {
    return counters;
  }

  /**
   * Announces routes to an observer from now on. Switches change routes only after the observer has
   * confirmed the announcement, or after a timeout.
   */
  public void announceRoutesTo(RouteObserver observer) {
    server.onLoop(
        () -> {
          routes.observe(observer);
          return null;
        });
  }

  @Override
  public void mirror(MirrorState wantedState) {
    server.onLoop(
        () -> {
          mirroring.want(wantedState);
          return null;
        });
  }

  @Override
  public MirrorReport report() {
    return server.onLoop(mirroring::report);
  }

  @Override
  public boolean seesSwitches() {
    return true;
  }

  @Override
  public Set<String> monitorsAt(String switchName) {
    return options.map().monitorPorts().getOrDefault(switchName, Map.of()).keySet();
  }

  @Override
  public Optional<CopyFormat> copyFormat() {
    return Optional.of(options.map().copyFormat());
  }

  @Override
  public List<MirrorCount> counts() {
    return server.onLoop(
        () -> {
          countReads.want(view.switches.values(), System.nanoTime());
          return mirroring.counts();
        });
  }

  @Override
  public void recount() {
    server.onLoop(
        () -> {
          view.switches.values().stream().filter(CountReads::isReadable).forEach(this::read);
          return null;
        });
  }

  private void read(SwitchState sw) {
    sw.nextReadNs = System.nanoTime() + options.readNs();
    sw.request();
  }

  public NetworkStatus status() {
    return server.onLoop(
        () ->
            StatusReport.of(
                view,
                mirroring,
                view.isSettled() && forwarder.isUpToDate() && view.isConfirmed(),
                counters.all()));
  }

  @Override
  public Optional<NetworkStatus> seen() {
    return Optional.of(status());
  }

  /**
   * Returns the ports through which a packet from a switch reaches a host; empty if there is no
   * path.
   */
  public List<SwitchPort> route(long datapath, long mac) {
    return server.onLoop(() -> forwarder.trees().route(datapath, mac));
  }

  /** Stops the controller; switches keep their flows and forward as before. */
  @Override
  public void close() {
    server.close();
  }

  private void send(Collection<Order> orders) {
    for (Order order : orders) {
      SwitchState sw = view.switches.get(order.datapath());
      if (sw != null && sw.isConnected()) {
        sw.send(List.of(order.message()));
      }
    }
  }

  private void changed() {
    forwarder.changed();
  }

  /**
   * Sends LLDP out of every port once per hello interval and, less often, ARP requests for the
   * inventory's hosts that have not been seen.
   */
  private void discover() {
    if (view.nowNs - lastHelloNs < options.helloNs()) {
      return;
    }
    lastHelloNs = view.nowNs;
    for (SwitchPort port : view.up()) {
      send(List.of(discovery.hello(port, view.nowNs)));
    }
    if (view.isSettled() && hellos++ % HELLOS_PER_PROBE == 0) {
      Collection<SwitchPort> edges = view.edges();
      options.map().addresses().values().stream()
          .flatMap(List::stream)
          .filter(address -> view.hosts.byIp(address).isEmpty())
          .limit(MAX_PROBES_PER_ROUND)
          .forEach(address -> send(discovery.probeAddress(address, under(address, edges))));
    }
  }

  private Collection<SwitchPort> under(int address, Collection<SwitchPort> edges) {
    Long pinned = options.map().switchOfAddress().get(address);
    return pinned == null
        ? edges
        : edges.stream().filter(port -> port.datapath() == pinned).toList();
  }

  /** Recovers, from the flows of an earlier controller, the hosts that it knew. */
  private void recoverHosts() {
    Predicate<Flow> toPort =
        flow ->
            Cookie.is(Cookie.Kind.FORWARD, flow.cookie())
                && flow.match().ethDst() != FlowMatch.ANY_MAC
                && flow.actions().size() == 1;
    for (SwitchState sw : view.switches.values()) {
      sw.flows().values().stream().filter(toPort).forEach(flow -> recover(sw.datapath, flow));
    }
  }

  private void recover(long datapath, Flow flow) {
    if (flow.actions().get(0) instanceof FlowAction.Output output) {
      SwitchPort switchPort = new SwitchPort(datapath, output.port());
      if (view.isEdge(switchPort)) {
        view.hosts.recover(flow.match().ethDst(), switchPort);
      }
    }
  }

  /** Handles the switches' messages. */
  private final class Events implements SwitchListener {
    private boolean recovered;

    /** True if mirror flows may be outdated, since hosts, links or trees have changed. */
    private boolean mirrorStale;

    @Override
    public boolean connected(SwitchConnection connection, List<PortState> ports) {
      Map<String, Long> known = options.map().datapaths();
      if (!known.isEmpty() && !known.containsValue(connection.datapath())) {
        counters.add(Counter.UNKNOWN_DATAPATHS);
        return false;
      }
      view.nowNs = System.nanoTime();
      SwitchState state = view.arrive(connection, ports);
      if (state == null) {
        counters.add(Counter.DUPLICATE_DATAPATHS);
        return false;
      }
      LOG.debug("switch {} connected from {}", mirroring.name(state.datapath), connection.remote());
      recovered = false;
      read(state);
      changed();
      return true;
    }

    @Override
    public void disconnected(SwitchConnection connection) {
      SwitchState state = view.switches.get(connection.datapath());
      if (state != null && state.connection == connection) {
        LOG.debug("switch {} disconnected", mirroring.name(state.datapath));
        state.connection = null;
        state.disconnectedSinceNs = System.nanoTime();
      }
    }

    private SwitchState of(SwitchConnection connection) {
      return view.switches.get(connection.datapath());
    }

    @Override
    public void packetIn(SwitchConnection connection, int port, byte[] frame) {
      view.nowNs = System.nanoTime();
      SwitchState.Port portState = of(connection).ports.get(port);
      if (portState == null || !portState.packetIns.take(view.nowNs)) {
        counters.add(Counter.PACKET_INS_DROPPED);
        return;
      }
      Discovery.Result result =
          discovery.packetIn(new SwitchPort(connection.datapath(), port), frame, view.nowNs);
      send(result.orders());
      if (result.changed()) {
        changed();
        mirrorStale = true;
      }
    }

    @Override
    public void portChanged(SwitchConnection connection, PortState port) {
      view.nowNs = System.nanoTime();
      SwitchState state = of(connection);
      if (view.portChanged(state, port)) {
        changed();
        mirrorStale = true;
      } else if (port.up()) {
        SwitchPort up = new SwitchPort(state.datapath, port.number());
        send(List.of(discovery.hello(up, view.nowNs)));
      }
    }

    @Override
    public void flows(SwitchConnection connection, List<ObservedFlow> flows) {
      view.nowNs = System.nanoTime();
      SwitchState state = of(connection);
      boolean isRepeated = state.read;
      if (!state.take(flows)) {
        return;
      }
      view.wasRead(state);
      if (mirroring.repair(state)) {
        counters.add(Counter.REPAIRS, isRepeated ? 1 : 0);
      } else {
        state.lastError = "";
      }
      changed();
    }

    @Override
    public void portCounters(SwitchConnection connection, List<PortCounters> all) {
      SwitchState state = of(connection);
      for (PortCounters portCounters : all) {
        SwitchState.Port port = state.ports.get(portCounters.port());
        if (port != null) {
          port.counters = portCounters;
        }
      }
    }

    @Override
    public void refused(SwitchConnection connection, String error) {
      SwitchState state = of(connection);
      LOG.debug("switch {}: {}", mirroring.name(state.datapath), error);
      state.lastError = error;
      state.nextReadNs = Math.min(state.nextReadNs, System.nanoTime() + options.readNs() / 5);
    }

    @Override
    public void tick() {
      view.nowNs = System.nanoTime();
      if (view.expire()) {
        changed();
      }
      discover();
      for (SwitchState sw : view.switches.values()) {
        boolean isDue = sw.isConnected() && view.nowNs >= sw.nextReadNs;
        if (isDue || countReads.isDue(sw, view.nowNs)) {
          read(sw);
        }
      }
      if (mirrorStale) {
        mirrorStale = false;
        view.switches.values().forEach(mirroring::repair);
      }
      if (view.isSettled() && !recovered && view.isRead()) {
        recovered = true;
        recoverHosts();
      }
      if (view.isSettled() && recovered) {
        Trees previousTrees = forwarder.trees();
        forwarder.advance(view.nowNs);
        // Mirror rules that name ports depend on the trees.
        mirrorStale |= forwarder.trees() != previousTrees;
      }
    }
  }
}
