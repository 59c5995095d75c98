package io.tapline.sdn.controller;

import static org.assertj.core.api.Assertions.assertThat;

import io.tapline.sdn.flow.SwitchMessage;
import io.tapline.sdn.flow.SwitchMessage.FlowMod;
import io.tapline.sdn.forwarding.RouteObserver;
import io.tapline.sdn.forwarding.RouteVersion;
import io.tapline.sdn.forwarding.RouteVersion.Port;
import io.tapline.sdn.forwarding.RouteVersion.Route;
import io.tapline.sdn.forwarding.RouteVersion.Switch;
import io.tapline.sdn.switches.Counter;
import io.tapline.sdn.switches.Counters;
import io.tapline.sdn.switches.SwitchConnection;
import io.tapline.sdn.topology.HostTable;
import io.tapline.sdn.topology.LinkTable;
import io.tapline.sdn.topology.SwitchPort;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Tests that a switch changes routes only after an observer has confirmed the announcement. */
class RouteAnnouncementsTest {
  private static final long SECOND = 1_000_000_000L;
  private static final long MAC = 0x02_0000_0001L;

  /** A switch that confirms messages only when the test tells it to. */
  private static final class Connection implements SwitchConnection {
    private final List<FlowMod> installed = new ArrayList<>();
    private final List<Runnable> unconfirmed = new ArrayList<>();

    @Override
    public long datapath() {
      return 1;
    }

    @Override
    public String remote() {
      return "test";
    }

    @Override
    public String version() {
      return "1.3";
    }

    @Override
    public void send(List<? extends SwitchMessage> messages) {
      messages.forEach(
          message -> {
            if (message instanceof FlowMod mod) {
              installed.add(mod);
            }
          });
    }

    @Override
    public void afterAll(Runnable done) {
      unconfirmed.add(done);
    }

    void confirm() {
      List<Runnable> all = List.copyOf(unconfirmed);
      unconfirmed.clear();
      all.forEach(Runnable::run);
    }

    @Override
    public void requestFlows() {}

    @Override
    public void requestPortCounters() {}

    @Override
    public void close(Counter reason) {}
  }

  private static final class Observer implements RouteObserver {
    private final List<RouteVersion> versions = new ArrayList<>();
    private Runnable confirm;
    private Set<String> switches = Set.of("s1");

    @Override
    public Set<String> switches() {
      return switches;
    }

    @Override
    public void announce(RouteVersion routes, Runnable confirmed) {
      versions.add(routes);
      confirm = confirmed;
    }

    List<Route> latest() {
      Switch latest = versions.get(versions.size() - 1).switches().get("s1");
      return latest == null ? null : latest.routes();
    }

    List<Port> ports() {
      return versions.get(versions.size() - 1).switches().get("s1").ports();
    }
  }

  private final Map<Long, SwitchState> switches = new TreeMap<>();
  private final HostTable hosts = new HostTable(Map.of());
  private final Counters counters = new Counters();
  private final LinkTable links = new LinkTable();
  private final RouteAnnouncements routes =
      new RouteAnnouncements(Map.of("s1", 1L, "s2", 2L), port -> 1000 * port.port(), counters, 1);
  private final Forwarder forwarder = new Forwarder(switches, links, hosts, counters, routes, 1);
  private final Connection connection = new Connection();
  private final Observer observer = new Observer();
  private long nowNs = SECOND;

  @BeforeEach
  void start() {
    SwitchState state = new SwitchState(1);
    state.connected(connection, nowNs);
    state.take(List.of());
    switches.put(1L, state);
    routes.observe(observer);
    pass(1);
  }

  private void pass(long tenths) {
    for (long i = 0; i < tenths; i++) {
      nowNs += SECOND / 10;
      forwarder.advance(nowNs);
    }
  }

  private void move(int port) {
    hosts.claim(MAC, 1, new SwitchPort(1, port), nowNs);
    forwarder.changed();
    pass(3);
  }

  @Test
  void aSwitchChangesOnceTheObserverHasConfirmed() {
    move(3);
    assertThat(observer.latest()).containsExactly(new Route(MAC, 3, true));
    assertThat(connection.installed).isEmpty();
    assertThat(forwarder.isUpToDate()).isFalse();
    int before = observer.versions.size();
    observer.confirm.run();
    pass(3);
    assertThat(connection.installed).hasSize(1);
    assertThat(observer.versions).as("the switch has not confirmed").hasSize(before);
    connection.confirm();
    pass(3);
    assertThat(observer.versions).hasSize(before + 1);
    assertThat(observer.latest()).containsExactly(new Route(MAC, 3, false));
    assertThat(forwarder.isUpToDate()).isTrue();
    assertThat(observer.versions)
        .isSortedAccordingTo(Comparator.comparingLong(RouteVersion::number));
  }

  @Test
  void aLateObserverDelaysForwardingForFiveSeconds() {
    move(3);
    pass(45);
    assertThat(connection.installed).isEmpty();
    pass(10);
    assertThat(connection.installed).hasSize(1);
    assertThat(counters.get(Counter.ROUTES_UNCONFIRMED)).isEqualTo(1);
  }

  @Test
  void changesOfOtherSwitchesNeedNoConfirmation() {
    observer.switches = Set.of("s2");
    move(3);
    assertThat(connection.installed).hasSize(1);
    connection.confirm();
    pass(1);
    observer.switches = Set.of("s1", "s2");
    pass(1);
    assertThat(observer.latest()).as("a new tap").containsExactly(new Route(MAC, 3, false));
    assertThat(observer.versions.get(observer.versions.size() - 1).switches())
        .as("s2 is unknown")
        .containsOnlyKeys("s1");
  }

  @Test
  void aSwitchThatDoesNotConfirmHasNoRoutes() {
    move(3);
    observer.confirm.run();
    pass(60);
    assertThat(counters.get(Counter.BARRIER_TIMEOUTS)).isEqualTo(1);
    assertThat(observer.latest()).isNull();
    connection.confirm();
    pass(1);
    assertThat(observer.latest()).containsExactly(new Route(MAC, 3, false));
  }

  private void settle() {
    pass(3);
    observer.confirm.run();
    for (int round = 0; round < 3; round++) {
      pass(1);
      connection.confirm();
    }
    pass(1);
  }

  @Test
  void portsHaveSpeedsAndNeighbours() {
    SwitchPort one = new SwitchPort(1, 5);
    SwitchPort two = new SwitchPort(2, 6);
    hosts.claim(MAC, 1, new SwitchPort(1, 3), nowNs);
    hosts.claim(MAC + 1, 2, new SwitchPort(2, 4), nowNs);
    links.observe(one, two, nowNs, nowNs);
    links.observe(two, one, nowNs, nowNs);
    forwarder.changed();
    settle();
    assertThat(observer.latest())
        .containsExactlyInAnyOrder(new Route(MAC, 3, false), new Route(MAC + 1, 5, false));
    assertThat(observer.ports())
        .containsExactly(new Port(3, 3000, "", 0), new Port(5, 5000, "s2", 6));
    links.forget(one);
    forwarder.changed();
    settle();
    assertThat(observer.ports()).containsExactly(new Port(3, 3000, "", 0));
  }

  @Test
  void nothingIsAnnouncedTwice() {
    move(3);
    observer.confirm.run();
    pass(1);
    connection.confirm();
    pass(1);
    int before = observer.versions.size();
    forwarder.changed();
    pass(10);
    assertThat(observer.versions).hasSize(before);
  }
}
