package io.tapline.sdn.simulation;

import static org.assertj.core.api.Assertions.assertThat;

import io.tapline.sdn.controller.Await;
import io.tapline.sdn.controller.Controller;
import io.tapline.sdn.switches.Counter;
import io.tapline.sdn.switches.Limits;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.util.Random;
import org.junit.jupiter.api.Test;

/** Tests misbehaving switches next to a good one, which must not be affected. */
class HostileTest extends GoodSwitchTestCase {
  @Test
  void messagesOtherThanOpenFlowAreCountedAndEndTheConnection() throws IOException {
    Random random = new Random(1);
    RawSwitch[] connections = new RawSwitch[10];
    for (int i = 0; i < connections.length; i++) {
      connections[i] = new RawSwitch(controller.port());
      byte[] noise = new byte[4000];
      random.nextBytes(noise);
      connections[i].send(noise);
    }
    for (RawSwitch raw : connections) {
      raw.awaitCut();
      raw.close();
    }
    awaitCount(Counter.DISCONNECTIONS, 10);
    try (RawSwitch raw = new RawSwitch(controller.port())) {
      raw.send(new byte[] {4, 0, 0, 7, 0, 0, 0, 1, 0});
      raw.awaitCut();
    }
    awaitCount(Counter.MALFORMED_CUTS, 1);
  }

  @Test
  void malformedMessagesAreCountedAndTooManyDisconnect() throws IOException {
    Random random = new Random(2);
    try (RawSwitch raw = RawSwitch.introduced(controller.port(), 2)) {
      for (int type = 0; type < 30; type++) {
        for (int i = 0; i < 20; i++) {
          byte[] body = new byte[random.nextInt(200)];
          random.nextBytes(body);
          ByteBuffer message = SimulatedSwitch.message(type, i, 8 + body.length);
          raw.send(message.put(body).flip());
        }
      }
      raw.awaitCut();
    } catch (IOException e) {
      // The controller closed the connection during a send.
    }
    awaitCount(Counter.MALFORMED_CUTS, 1);
    assertThat(controller.counters().get(Counter.MALFORMED_MESSAGES)).isGreaterThan(100);
  }

  /** The simulated switch behaves normally; its responses are well-formed or slightly garbled. */
  @Test
  void slightlyWrongResponsesAreNotAttributedToOtherServers() throws IOException {
    SimulatedSwitch state = new SimulatedSwitch(2, 4);
    try (RawSwitch raw = new RawSwitch(controller.port())) {
      raw.send(state.hello());
      for (int i = 0; i < 10_000 && state.flowCount() == 0; i++) {
        raw.answer(state, 1, response -> response);
      }
    }
    assertThat(state.flowCount()).isPositive();
    Random random = new Random(3);
    for (int i = 0; i < 9; i++) {
      Await.until(() -> controller.status().switches().size() == 1);
      try (RawSwitch raw = new RawSwitch(controller.port())) {
        raw.socket.setSoTimeout(500);
        raw.send(state.hello());
        raw.answer(state, 16, response -> garbled(response, random));
      } catch (IOException | UncheckedIOException e) {
        // The controller closed the connection or stopped asking.
      }
    }
  }

  private static ByteBuffer garbled(ByteBuffer response, Random random) {
    byte[] bytes = new byte[response.remaining()];
    response.duplicate().get(bytes);
    for (int i = random.nextInt(4); i > 0 && bytes.length > 8; i--) {
      bytes[8 + random.nextInt(bytes.length - 8)] = (byte) random.nextInt();
    }
    return ByteBuffer.wrap(bytes);
  }

  @Test
  void aClientThatDoesNotReadIsDisconnected() throws IOException {
    try (RawSwitch raw = RawSwitch.introduced(controller.port(), 2)) {
      ByteBuffer echo = SimulatedSwitch.message(2, 1, 60_000).position(60_000).flip();
      for (int i = 0; i < 2000 && controller.counters().get(Counter.SLOW_READERS) == 0; i++) {
        raw.send(echo.duplicate());
      }
    } catch (IOException e) {
      // The controller closed the connection during a send.
    }
    awaitCount(Counter.SLOW_READERS, 1);
    Await.until(() -> controller.status().switches().size() == 1);
  }

  @Test
  void switchesThatReadTooSlowlyOrStaySilentAreDisconnected() throws IOException {
    long deadlineNs = 500_000_000L;
    long neverNs = Long.MAX_VALUE / 2;
    int any = Integer.MAX_VALUE;
    Limits slow = new Limits(20, 500, any, deadlineNs, neverNs, neverNs, 100, 1000);
    try (Controller otherController = controller(slow)) {
      try (RawSwitch raw = RawSwitch.introduced(otherController.port(), 2)) {
        ByteBuffer echo = SimulatedSwitch.message(2, 1, 60_000).position(60_000).flip();
        // Sends more bytes than kernels buffer for a connection.
        for (int i = 0; i < 500; i++) {
          raw.send(echo.duplicate());
        }
        Await.until(() -> otherController.counters().get(Counter.SLOW_READERS) == 1);
      } catch (IOException e) {
        // The controller closed the connection during a send.
      }
      Await.until(() -> otherController.counters().get(Counter.SLOW_READERS) == 1);
    }
    Limits silentLimits = new Limits(20, 500, any, neverNs, neverNs, deadlineNs, 100, 1000);
    try (Controller otherController = controller(silentLimits);
        RawSwitch raw = RawSwitch.introduced(otherController.port(), 2)) {
      raw.awaitCut();
      assertThat(otherController.counters().get(Counter.SILENT_SWITCHES)).isEqualTo(1);
    }
  }

  @Test
  void duplicateAndUnknownSwitchesAreRejected() throws IOException {
    try (RawSwitch raw = RawSwitch.introduced(controller.port(), 1)) {
      raw.awaitCut();
      awaitCount(Counter.DUPLICATE_DATAPATHS, 1);
    }
    try (RawSwitch raw = RawSwitch.introduced(controller.port(), 77)) {
      raw.awaitCut();
      awaitCount(Counter.UNKNOWN_DATAPATHS, 1);
    }
  }

  @Test
  void withoutACommonVersionOrAMessageTheConnectionEnds() throws IOException {
    try (RawSwitch raw = new RawSwitch(controller.port())) {
      raw.send(new byte[] {1, 0, 0, 8, 0, 0, 0, 1});
      raw.read();
      ByteBuffer error = raw.read();
      assertThat(error.get(1)).isEqualTo((byte) 1);
      raw.awaitCut();
      awaitCount(Counter.VERSION_MISMATCHES, 1);
    }
    try (RawSwitch raw = new RawSwitch(controller.port())) {
      raw.awaitCut();
      awaitCount(Counter.HANDSHAKE_TIMEOUTS, 1);
    }
  }

  @Test
  void anOversizedReplyIsTruncated() throws IOException {
    try (RawSwitch raw = RawSwitch.introduced(controller.port(), 2)) {
      int xid = 0;
      while (xid == 0) {
        ByteBuffer message = raw.read();
        xid = message.get(1) == 18 && message.getShort(8) == 1 ? message.getInt(4) : 0;
      }
      ByteBuffer part = SimulatedSwitch.message(19, xid, 16 + 56 * 1000);
      part.putShort((short) 1).putShort((short) 1).putInt(0);
      for (int i = 0; i < 1000; i++) {
        part.putShort((short) 56).position(part.position() + 46);
        part.putShort((short) 1).putShort((short) 4).putInt(0);
      }
      part.flip();
      for (int i = 0; i < 3; i++) {
        raw.send(part.duplicate());
      }
      raw.awaitCut();
    } catch (IOException e) {
      // The controller closed the connection during a send.
    }
    awaitCount(Counter.OVERSIZED_REPLIES, 1);
  }

  @Test
  void connectionsBeyondTheMaximumAreClosed() throws IOException {
    RawSwitch[] connections = new RawSwitch[30];
    for (int i = 0; i < connections.length; i++) {
      connections[i] = new RawSwitch(controller.port());
    }
    awaitCount(Counter.REFUSED_CONNECTIONS, 10);
    for (RawSwitch rawSwitch : connections) {
      rawSwitch.close();
    }
  }
}
