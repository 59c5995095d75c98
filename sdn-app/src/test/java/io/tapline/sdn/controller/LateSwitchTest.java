package io.tapline.sdn.controller;

import static org.assertj.core.api.Assertions.assertThat;

import io.tapline.sdn.flow.SwitchMessage;
import io.tapline.sdn.flow.SwitchMessage.FlowMod;
import io.tapline.sdn.switches.Counter;
import io.tapline.sdn.switches.Counters;
import io.tapline.sdn.switches.SwitchConnection;
import io.tapline.sdn.topology.HostTable;
import io.tapline.sdn.topology.LinkTable;
import io.tapline.sdn.topology.SwitchPort;
import java.net.InetSocketAddress;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Tests switches that do not apply or do not confirm messages, next to one that does. */
class LateSwitchTest {
  private static final long SECOND = 1_000_000_000L;
  private static final long GOOD = 1;
  private static final long BAD = 2;

  private static final class Connection implements SwitchConnection {
    private final long datapath;
    private final boolean confirms;
    private final List<FlowMod> installed = new ArrayList<>();
    private final List<Runnable> unconfirmed = new ArrayList<>();

    Connection(long datapath, boolean confirms) {
      this.datapath = datapath;
      this.confirms = confirms;
    }

    @Override
    public long datapath() {
      return datapath;
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
      if (confirms) {
        confirm();
      }
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

  private final Map<Long, SwitchState> switches = new TreeMap<>();
  private final LinkTable links = new LinkTable();
  private final HostTable hosts = new HostTable(Map.of());
  private final Counters counters = new Counters();
  private final RouteAnnouncements routes =
      new RouteAnnouncements(Map.of(), port -> 0, counters, 1);
  private final Forwarder forwarder = new Forwarder(switches, links, hosts, counters, routes, 1);
  private final Connection good = new Connection(GOOD, true);
  private final Connection bad = new Connection(BAD, false);
  private long nowNs = SECOND;
  private int learned;

  @BeforeEach
  void start() {
    for (Connection connection : List.of(good, bad)) {
      SwitchState state = new SwitchState(connection.datapath());
      state.connected(connection, nowNs);
      state.take(List.of());
      switches.put(connection.datapath(), state);
    }
    SwitchPort one = new SwitchPort(GOOD, 1);
    SwitchPort otherPort = new SwitchPort(BAD, 1);
    links.observe(one, otherPort, nowNs, nowNs);
    links.observe(otherPort, one, nowNs, nowNs);
  }

  /**
   * Learns a host behind the late switch. That switch's flow for the host changes in an earlier
   * round than the other switch's.
   */
  private void learnAtBad() {
    learned++;
    hosts.claim(0x02_0000_0000L + learned, learned, new SwitchPort(BAD, 1 + learned), nowNs);
    forwarder.changed();
  }

  private void pass(long seconds) {
    for (long i = 0; i < 10 * seconds; i++) {
      nowNs += SECOND / 10;
      forwarder.advance(nowNs);
    }
  }

  @Test
  void aLateSwitchIsAwaitedOnceAndThenOnlyAfterItConfirms() {
    learnAtBad();
    pass(4);
    assertThat(good.installed).as("the previous round is not confirmed").isEmpty();
    pass(2);
    assertThat(good.installed).hasSize(1);
    assertThat(counters.get(Counter.BARRIER_TIMEOUTS)).isEqualTo(1);

    for (int i = 2; i < 20; i++) {
      learnAtBad();
      nowNs += SECOND / 10;
      forwarder.advance(nowNs);
      assertThat(good.installed).as("does not wait").hasSize(i);
    }
    assertThat(bad.installed).as("the late switch is still updated").hasSize(19);
    assertThat(counters.get(Counter.BARRIER_TIMEOUTS)).isEqualTo(1);
    assertThat(forwarder.isUpToDate()).isTrue();

    bad.confirm();
    learnAtBad();
    pass(1);
    assertThat(good.installed).as("awaited again after it confirmed").hasSize(19);
    bad.confirm();
    pass(1);
    assertThat(good.installed).hasSize(20);
  }

  @Test
  void aSwitchThatReconnectsWithoutReportingItsFlowsDoesNotDelayOthers() {
    ControllerOptions options =
        ControllerOptions.of(
            new InetSocketAddress(0), new NetworkMap(Map.of(), Map.of(), Map.of(), Map.of()));
    NetworkView view = new NetworkView(options, nowNs);
    view.arrive(good, List.of()).take(List.of());
    SwitchState state = view.arrive(bad, List.of());
    assertThat(view.isRead()).as("the switch has just connected").isFalse();
    for (int i = 0; i < 20; i++) {
      view.nowNs += SECOND;
      state.connection = null;
      view.arrive(bad, List.of());
    }
    assertThat(view.isRead()).isTrue();
    state.take(List.of());
    state.connection = null;
    view.arrive(bad, List.of());
    assertThat(view.isRead()).as("awaits a switch that has reported its flows once").isFalse();
  }
}
