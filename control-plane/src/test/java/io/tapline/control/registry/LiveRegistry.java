package io.tapline.control.registry;

import static org.assertj.core.api.Assertions.assertThat;

import io.grpc.Grpc;
import io.grpc.InsecureChannelCredentials;
import io.grpc.ManagedChannel;
import io.tapline.control.HashKey;
import io.tapline.control.HashKeys;
import io.tapline.flink.Login;
import io.tapline.schema.proto.Plan;
import io.tapline.schema.rpc.Assignment;
import io.tapline.schema.rpc.Welcome;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.Map;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.LinkedBlockingQueue;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;

/** A registry for simulated agents, which connect to it in the same way as real agents. */
abstract class LiveRegistry {
  static final long TERM = 100;
  static final HashKeys KEYS =
      new HashKeys(
          HashKey.of("00112233445566778899aabbccddeeff"),
          HashKey.of("ffeeddccbbaa99887766554433221100"));
  static final int SECONDS = 30;
  static final Plan PLAN = Plan.newBuilder().setQuery("q").setEpoch(3).build();

  final BlockingQueue<String> leases = new LinkedBlockingQueue<>();
  AgentRegistry registry;
  final Map<String, Login> logins = new ConcurrentHashMap<>();
  ManagedChannel channel;

  @BeforeEach
  void start() throws Exception {
    registry =
        registry(
            Duration.ofSeconds(SECONDS), Duration.ofSeconds(SECONDS), Duration.ofSeconds(SECONDS));
    channel = channel(registry);
  }

  AgentRegistry registry(Duration lease, Duration disconnectAfter, Duration grace)
      throws Exception {
    return AgentRegistry.start(
        new RegistryOptions(
            new InetSocketAddress(InetAddress.getLoopbackAddress(), 0),
            TERM,
            "broker:9092",
            KEYS,
            host -> logins.getOrDefault(host, Login.NONE),
            Duration.ofMillis(20),
            lease,
            disconnectAfter,
            grace),
        new LeaseListener() {
          @Override
          public void up(String agent, String multilog) {
            leases.add(agent + " up, node '" + multilog + "'");
          }

          @Override
          public void lost(String agent) {
            leases.add(agent + " lost");
          }

          @Override
          public void forgotten(String agent) {
            leases.add(agent + " forgotten");
          }
        });
  }

  static ManagedChannel channel(AgentRegistry registry) {
    return Grpc.newChannelBuilder(
            "127.0.0.1:" + registry.port(), InsecureChannelCredentials.create())
        .build();
  }

  @AfterEach
  void stop() {
    channel.shutdownNow();
    registry.close();
  }

  AgentState awaitUp(String name, boolean isUp) throws InterruptedException {
    long end = System.nanoTime() + SECONDS * 1_000_000_000L;
    while (System.nanoTime() < end) {
      for (AgentState state : registry.states()) {
        if (state.name().equals(name) && state.up() == isUp) {
          return state;
        }
      }
      Thread.sleep(10);
    }
    throw new AssertionError(name + " does not become " + (isUp ? "up" : "down"));
  }

  Peer peer(String name, long incarnation, Assignment... running) throws Exception {
    Peer peer = Peer.of(channel);
    peer.hello(name, incarnation, running);
    Welcome welcome = peer.next().getWelcome();
    assertThat(welcome.getBrokers()).isEqualTo("broker:9092");
    assertThat(welcome.getHashKey()).isEqualTo(KEYS.flows().digits());
    assertThat(welcome.getTextKey()).isEqualTo(KEYS.texts().digits());
    return peer;
  }
}
