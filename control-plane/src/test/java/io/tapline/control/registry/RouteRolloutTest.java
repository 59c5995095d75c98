package io.tapline.control.registry;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.groups.Tuple.tuple;

import io.grpc.Status;
import io.tapline.schema.rpc.RoutesCommand;
import io.tapline.sdn.forwarding.RouteVersion;
import io.tapline.sdn.forwarding.RouteVersion.Port;
import io.tapline.sdn.forwarding.RouteVersion.Route;
import io.tapline.sdn.forwarding.RouteVersion.Switch;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;

/** Tests the distribution of routes to simulated agents that have a tap of switch sw1. */
class RouteRolloutTest extends LiveRegistry {
  private static final int SHORT_MS = 100;

  private static RouteVersion version(long number, long routes) {
    List<Route> all =
        LongStream.range(0, routes).mapToObj(mac -> new Route(mac, 3, mac == 1)).toList();
    Switch sw = new Switch(all, List.of(new Port(3, 10_000_000_000L, "sw2", 4)));
    return new RouteVersion(number, 7, Map.of("sw1", sw, "sw2", sw));
  }

  private CountDownLatch announce(RouteVersion version) {
    CountDownLatch confirmed = new CountDownLatch(1);
    registry.announce(version, confirmed::countDown);
    return confirmed;
  }

  private static boolean isSoon(CountDownLatch confirmed) throws InterruptedException {
    return confirmed.await(SECONDS, TimeUnit.SECONDS);
  }

  private static boolean isNow(CountDownLatch confirmed) throws InterruptedException {
    return confirmed.await(SHORT_MS, TimeUnit.MILLISECONDS);
  }

  @Test
  void hostsGetTheRoutesOfTheirSwitchesAndConfirmThem() throws Exception {
    Peer one = peer("h1", 1);
    Peer two = peer("h2", 1);
    awaitUp("h2", true);
    assertThat(registry.switches()).isEqualTo(Set.of("sw1"));
    CountDownLatch confirmed = announce(version(5, 2));
    RoutesCommand command = one.next().getRoutes();
    assertThat(command.getVersion()).isEqualTo(5);
    assertThat(command.getSettleNs()).isEqualTo(7);
    assertThat(command.getSwitchesList()).hasSize(1);
    assertThat(command.getSwitches(0).getName()).isEqualTo("sw1");
    assertThat(command.getSwitches(0).getRoutesList())
        .extracting(
            route -> route.getMac(), route -> route.getPorts(0), route -> route.getChanging())
        .containsExactly(tuple(0L, 3, false), tuple(1L, 3, true));
    assertThat(command.getSwitches(0).getPortsList())
        .extracting(
            port -> port.getNumber(),
            port -> port.getBitsPerSecond(),
            port -> port.getNeighbour(),
            port -> port.getNeighbourPort())
        .containsExactly(tuple(3, 10_000_000_000L, "sw2", 4));
    two.next();
    one.confirmRoutes(5);
    two.confirmRoutes(4);
    assertThat(isNow(confirmed)).as("h2 has an earlier version").isFalse();
    two.confirmRoutes(5);
    assertThat(isSoon(confirmed)).isTrue();
  }

  @Test
  void manyRoutesComeInParts() throws Exception {
    Peer peer = peer("h1", 1);
    awaitUp("h1", true);
    announce(version(5, 5000));
    RoutesCommand first = peer.next().getRoutes();
    RoutesCommand last = peer.next().getRoutes();
    assertThat(first.getMore()).isTrue();
    assertThat(first.getSerializedSize()).isLessThan(128 << 10);
    assertThat(last.getMore()).isFalse();
    assertThat(first.getSwitches(0).getRoutesCount() + last.getSwitches(0).getRoutesCount())
        .isEqualTo(5000);
    assertThat(first.getSwitches(0).getPortsCount() + last.getSwitches(0).getPortsCount())
        .as("each port is sent once")
        .isEqualTo(1);
  }

  @Test
  void aHostThatConnectsLaterGetsTheLatestRoutes() throws Exception {
    assertThat(isSoon(announce(version(5, 2)))).as("no host needs routes").isTrue();
    Peer peer = peer("h1", 1);
    assertThat(peer.next().getRoutes().getVersion()).isEqualTo(5);
    CountDownLatch confirmed = announce(version(6, 2));
    assertThat(peer.next().getRoutes().getVersion()).isEqualTo(6);
    assertThat(isNow(confirmed)).isFalse();
    peer.confirmRoutes(6);
    assertThat(isSoon(confirmed)).isTrue();
  }

  @Test
  void anAgentThatIsOlderThanRoutesIsNotAwaited() throws Exception {
    Peer peer = Peer.of(channel);
    peer.takesRoutes = false;
    peer.hello("h1", 1);
    assertThat(peer.next().hasWelcome()).isTrue();
    awaitUp("h1", true);
    assertThat(isSoon(announce(version(5, 2)))).isTrue();
    assertThat(registry.switches()).isEmpty();
  }

  /** Tests a lost host, whose monitor evicts its routes by the time the agent's lease expires. */
  @Test
  void aLostHostIsAwaitedForTheLengthOfItsLease() throws Exception {
    registry.close();
    channel.shutdownNow();
    registry =
        registry(Duration.ofSeconds(2), Duration.ofSeconds(SECONDS), Duration.ofSeconds(SECONDS));
    channel = channel(registry);
    Peer peer = peer("h1", 1);
    awaitUp("h1", true);
    peer.out.onError(Status.CANCELLED.asException());
    awaitUp("h1", false);
    CountDownLatch confirmed = announce(version(5, 2));
    assertThat(isNow(confirmed)).isFalse();
    assertThat(isSoon(confirmed)).isTrue();
  }
}
