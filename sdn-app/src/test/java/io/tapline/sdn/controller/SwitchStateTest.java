package io.tapline.sdn.controller;

import static org.assertj.core.api.Assertions.assertThat;

import io.tapline.sdn.flow.Cookie;
import io.tapline.sdn.flow.Flow;
import io.tapline.sdn.flow.FlowMatch;
import io.tapline.sdn.flow.ObservedFlow;
import io.tapline.sdn.flow.SwitchMessage;
import io.tapline.sdn.switches.Counter;
import io.tapline.sdn.switches.SwitchConnection;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

/**
 * Tests the state of a switch. The test acts as the switch: it decides when a change is applied,
 * and which flows are reported.
 */
class SwitchStateTest {
  private static final Flow FLOW =
      new Flow(0, 7, FlowMatch.to(0x02_0000_000aL), List.of(), 1, Cookie.of(Cookie.Kind.MIRROR, 1));
  private static final List<SwitchMessage> ADD =
      List.of(new SwitchMessage.FlowMod(SwitchMessage.Kind.ADD, FLOW));

  /** Applies sent messages when the test requests it. */
  private static final class Connection implements SwitchConnection {
    final List<Runnable> pending = new ArrayList<>();

    @Override
    public long datapath() {
      return 1;
    }

    @Override
    public String remote() {
      return "192.0.2.1:40000";
    }

    @Override
    public String version() {
      return "1.3";
    }

    @Override
    public void send(List<? extends SwitchMessage> messages) {}

    @Override
    public void afterAll(Runnable done) {
      pending.add(done);
    }

    @Override
    public void requestFlows() {}

    @Override
    public void requestPortCounters() {}

    @Override
    public void close(Counter reason) {}
  }

  private final SwitchState state = new SwitchState(1);
  private final Connection connection = new Connection();

  @Test
  void flowsReadBeforeAChangeAreIgnored() {
    state.connected(connection, 1);
    state.request();
    state.send(ADD);
    assertThat(state.take(List.of())).isFalse();
    assertThat(state.isReady()).isFalse();
    assertThat(state.flows()).containsKey(FLOW.key());
    state.request();
    assertThat(state.take(List.of(new ObservedFlow(FLOW, 3, 300)))).isTrue();
    assertThat(state.isReady()).isTrue();
    assertThat(state.counted).hasSize(1);
  }

  @Test
  void aReconnectedSwitchIsReadAgain() {
    state.connected(connection, 1);
    state.request();
    assertThat(state.take(List.of())).isTrue();
    state.connected(new Connection(), 2);
    assertThat(state.isReady()).isFalse();
    assertThat(state.unreadSinceNs).isEqualTo(2);
  }

  @Test
  void confirmationsOfAnEarlierConnectionAreIgnored() {
    state.connected(connection, 1);
    state.send(ADD);
    Connection next = new Connection();
    state.connected(next, 2);
    state.send(ADD);
    connection.pending.forEach(Runnable::run);
    assertThat(state.isConfirmed()).isFalse();
  }
}
