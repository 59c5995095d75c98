package io.tapline.sdn.controller;

import static org.assertj.core.api.Assertions.assertThat;

import io.tapline.network.IpPrefix;
import io.tapline.network.rules.PortMask;
import io.tapline.network.rules.RuleMatch;
import io.tapline.network.rules.RuleTable;
import io.tapline.network.rules.Wanted;
import io.tapline.sdn.mirror.MirrorPort;
import io.tapline.sdn.mirror.MirrorState;
import io.tapline.sdn.simulation.SimulatedSwitches;
import io.tapline.sdn.switches.Counter;
import io.tapline.sdn.topology.Arp;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** Tests the controller over TCP with switches that implement OpenFlow from the specification. */
class ControllerTest {
  private static final long MS = 1_000_000L;
  private static final NetworkMap MAP =
      new NetworkMap(
          Map.of("s1", 101L, "s2", 102L, "s3", 103L),
          Map.of("monitor", List.of(0x0a000009)),
          Map.of(),
          Map.of("s2", Map.of("monitor", new MirrorPort(4, 77))));

  private Controller controller;
  private SimulatedSwitches switches;

  private static ControllerOptions options(int port) {
    return ControllerOptions.of(new InetSocketAddress(InetAddress.getLoopbackAddress(), port), MAP)
        .withTimes(400 * MS, 100 * MS, 300 * MS);
  }

  /**
   * Starts a controller, and switches connected as s1 -1-1- s2 -2-1- s3; ports 3 and 4 are for
   * hosts.
   */
  private void start() throws IOException {
    controller = Controller.start(options(0));
    switches =
        new SimulatedSwitches(
            new InetSocketAddress(InetAddress.getLoopbackAddress(), controller.port()), 3, 4, 101);
    switches.link(0, 1, 1, 1);
    switches.link(1, 2, 2, 1);
    switches.connect();
    Await.until(() -> controller.status().settled() && controller.status().links() == 2);
  }

  @AfterEach
  void stop() {
    switches.close();
    controller.close();
  }

  private void host(int member, int port, int ip) {
    Arp arp = Arp.request(0x02_0000_0000L + ip, ip, ip);
    int known = controller.status().hosts().size();
    Await.until(
        () -> {
          switches.receive(member, port, arp.frame());
          return controller.status().hosts().size() > known;
        });
  }

  private static MirrorState mirrored(String... names) {
    RuleMatch match =
        new RuleMatch(
            IpPrefix.of("10.0.0.0/8"), IpPrefix.ANY, 6, PortMask.ANY, PortMask.of(80), 0, 0);
    RuleTable table = RuleTable.of(List.of(new Wanted("q", "monitor-0", match, false)), 100);
    Map<String, RuleTable> tables = new java.util.HashMap<>();
    for (String name : names) {
      tables.put(name, table);
    }
    return new MirrorState(tables, Map.of("monitor-0", "monitor"));
  }

  private void awaitFlows(int count) {
    Await.until(
        () ->
            switches.flows(0) == count
                && switches.flows(1) == count
                && switches.flows(2) == count
                && controller.status().settled());
  }

  @Test
  void findsLinksAndHostsForwardsAndMirrors() throws IOException {
    start();
    awaitFlows(3);
    host(0, 3, 0x0a000001);
    host(2, 3, 0x0a000003);
    awaitFlows(5);
    assertThat(controller.route(101, 0x02_0000_0000L + 0x0a000003))
        .map(Object::toString)
        .containsExactly("65:1", "66:2", "67:3");

    controller.mirror(mirrored("s1"));
    Await.until(() -> switches.flows(0) == 6);
    assertThat(controller.report().missing(List.of("s1")))
        .contains("switch s1: the port of monitor-0 (host monitor) is not known");
    host(0, 4, 0x0a000009);
    Await.until(() -> controller.report().complete());
    assertThat(controller.report().rules()).isEqualTo(Map.of("s1", 1));

    controller.mirror(mirrored("s2"));
    Await.until(() -> controller.report().complete());
    assertThat(controller.report().rules()).isEqualTo(Map.of("s2", 1));
    Await.until(() -> switches.flows(0) == 6 && switches.flows(1) == 7 && switches.flows(2) == 6);
    controller.mirror(MirrorState.NOTHING);
    awaitFlows(6);
    assertThat(controller.counters().get(Counter.MALFORMED_MESSAGES)).isZero();
    assertThat(controller.counters().get(Counter.UNEXPECTED_MESSAGES)).isZero();
    assertThat(controller.counters().get(Counter.REPAIRS)).isZero();
  }

  @Test
  void lostFlowsAreRestoredAndForeignOnesStay() throws IOException {
    start();
    host(0, 3, 0x0a000001);
    awaitFlows(4);
    switches.addForeign(1, 7);
    assertThat(switches.loseFlow(0, 0)).isTrue();
    assertThat(switches.loseFlow(2, 1)).isTrue();
    Await.until(() -> switches.flows(0) == 4 && switches.flows(2) == 4);
    // The controller counts a repair after sending it.
    Await.until(() -> controller.counters().get(Counter.REPAIRS) > 0);

    switches.disconnect(0);
    switches.forgetFlows(0);
    Await.until(() -> controller.status().switches().size() == 2);
    switches.connect();
    Await.until(() -> switches.flows(0) == 4);
    assertThat(switches.hasPriority(1, 7)).isTrue();
  }

  @Test
  void aSecondControllerChangesNoCorrectFlows() throws IOException {
    start();
    host(0, 3, 0x0a000001);
    host(2, 3, 0x0a000003);
    controller.mirror(mirrored("s2"));
    Await.until(() -> switches.flows() == 16 && controller.status().settled());
    controller.close();
    long previousFlowMods = switches.flowMods();

    controller = Controller.start(options(controller.port()));
    controller.mirror(mirrored("s2"));
    Await.until(
        () -> {
          switches.connect();
          return controller.status().switches().size() == 3;
        });
    Await.until(() -> controller.status().settled() && controller.status().hosts().size() == 2);
    assertThat(switches.flowMods()).isEqualTo(previousFlowMods);
    assertThat(controller.route(101, 0x02_0000_0000L + 0x0a000003)).hasSize(3);

    controller.mirror(MirrorState.NOTHING);
    Await.until(() -> switches.flows() == 15);
  }
}
