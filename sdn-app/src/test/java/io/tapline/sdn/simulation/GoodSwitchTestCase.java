package io.tapline.sdn.simulation;

import static org.assertj.core.api.Assertions.assertThat;

import io.tapline.sdn.controller.Await;
import io.tapline.sdn.controller.Controller;
import io.tapline.sdn.controller.ControllerOptions;
import io.tapline.sdn.controller.NetworkMap;
import io.tapline.sdn.switches.Counter;
import io.tapline.sdn.switches.Limits;
import io.tapline.sdn.topology.Arp;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.Map;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;

/** A controller and a well-behaved switch with four ports and a host. */
abstract class GoodSwitchTestCase {
  private static final long MS = 1_000_000L;
  static final Limits LIMITS =
      new Limits(20, 500, 256 << 10, 60_000 * MS, 3000 * MS, 60_000 * MS, 100, 1000);

  /** Address of the first host. */
  static final int ADDRESS = 0x0a000001;

  private static final NetworkMap MAP =
      new NetworkMap(Map.of("good", 1L, "bad", 2L, "third", 3L), Map.of(), Map.of(), Map.of());

  Controller controller;
  SimulatedSwitches good;

  static Controller controller(Limits limits) throws IOException {
    return Controller.start(
        ControllerOptions.of(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), MAP)
            .with(limits)
            .withTimes(200 * MS, 100 * MS, 1000 * MS));
  }

  @BeforeEach
  void start() throws IOException {
    controller = controller(LIMITS);
    InetAddress loopback = InetAddress.getLoopbackAddress();
    good = new SimulatedSwitches(new InetSocketAddress(loopback, controller.port()), 1, 4, 1);
    good.connect();
    Await.until(() -> good.flows() == 3 && controller.status().settled());
    goodHost(1, ADDRESS);
  }

  /**
   * Verifies after each test that the good switch is connected and has all its flows, and that its
   * hosts are served.
   */
  @AfterEach
  void othersAreNotAffected() {
    goodHost(2, 0x0a000002);
    assertThat(controller.status().switches()).anyMatch(status -> status.name().equals("good"));
    Await.until(() -> good.flows() >= 5);
    assertThat(controller.counters().get(Counter.INTERNAL_ERRORS)).isZero();
    good.close();
    controller.close();
  }

  static byte[] announcement(int ip) {
    return Arp.request(mac(ip), ip, ip).frame();
  }

  static long mac(int ip) {
    return 0x02_0000_0000L + ip;
  }

  void goodHost(int port, int ip) {
    Await.until(
        () -> {
          good.receive(0, port, announcement(ip));
          return place(ip).equals("good:" + port);
        });
  }

  /** Returns the location of an address: switch and port; empty if it is unknown. */
  String place(int ip) {
    String address = "10.0.0." + (ip & 0xff);
    return controller.status().hosts().stream()
        .filter(host -> host.addresses().contains(address))
        .map(host -> host.at())
        .findFirst()
        .orElse("");
  }

  void awaitCount(Counter counter, long min) {
    Await.until(() -> controller.counters().get(counter) >= min);
  }
}
