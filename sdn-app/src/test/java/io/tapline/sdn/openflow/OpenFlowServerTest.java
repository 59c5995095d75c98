package io.tapline.sdn.openflow;

import static org.assertj.core.api.Assertions.assertThat;

import io.tapline.sdn.controller.Await;
import io.tapline.sdn.flow.ObservedFlow;
import io.tapline.sdn.switches.Counter;
import io.tapline.sdn.switches.Counters;
import io.tapline.sdn.switches.Limits;
import io.tapline.sdn.switches.PortCounters;
import io.tapline.sdn.switches.PortState;
import io.tapline.sdn.switches.SwitchConnection;
import io.tapline.sdn.switches.SwitchListener;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;

class OpenFlowServerTest {
  /** A listener that throws at every tick. */
  private static final class FailingListener implements SwitchListener {
    private final AtomicInteger looks = new AtomicInteger();

    @Override
    public void tick() {
      looks.incrementAndGet();
      throw new IllegalStateException("a fault for the test");
    }

    @Override
    public boolean connected(SwitchConnection connection, List<PortState> ports) {
      return true;
    }

    @Override
    public void disconnected(SwitchConnection connection) {}

    @Override
    public void packetIn(SwitchConnection connection, int port, byte[] frame) {}

    @Override
    public void portChanged(SwitchConnection connection, PortState port) {}

    @Override
    public void flows(SwitchConnection connection, List<ObservedFlow> flows) {}

    @Override
    public void portCounters(SwitchConnection connection, List<PortCounters> all) {}

    @Override
    public void refused(SwitchConnection connection, String error) {}
  }

  @Test
  void checksSwitchesAgainAfterAnyFailure() throws IOException {
    FailingListener listener = new FailingListener();
    Counters counters = new Counters();
    InetSocketAddress any = new InetSocketAddress(InetAddress.getLoopbackAddress(), 0);
    try (OpenFlowServer server =
        OpenFlowServer.start(any, Optional.empty(), listener, counters, Limits.DEFAULT)) {
      Await.until(() -> listener.looks.get() >= 3);
      assertThat(counters.get(Counter.INTERNAL_ERRORS)).isGreaterThanOrEqualTo(2);
    }
  }
}
