package io.tapline.sdn.simulation;

import static org.assertj.core.api.Assertions.assertThat;

import io.tapline.sdn.controller.Await;
import io.tapline.sdn.controller.Controller;
import io.tapline.sdn.controller.ControllerOptions;
import io.tapline.sdn.controller.Counter;
import io.tapline.sdn.controller.Limits;
import io.tapline.sdn.controller.NetworkMap;
import io.tapline.sdn.topology.Arp;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.util.Map;
import java.util.Random;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Switches and hosts that do what they should not, beside one that does not know of it. */
class HostileTest {
  private static final long MS = 1_000_000L;
  private static final Limits LIMITS =
      new Limits(20, 500, 256 << 10, 60_000 * MS, 1000 * MS, 60_000 * MS, 100, 1000);
  private static final NetworkMap MAP =
      new NetworkMap(Map.of("good", 1L, "bad", 2L, "third", 3L), Map.of(), Map.of(), Map.of());

  private Controller controller;
  private SimulatedSwitches good;

  @BeforeEach
  void start() throws IOException {
    InetAddress loopback = InetAddress.getLoopbackAddress();
    ControllerOptions options =
        ControllerOptions.of(new InetSocketAddress(loopback, 0), MAP)
            .with(LIMITS)
            .withTimes(200 * MS, 100 * MS, 1000 * MS);
    controller = Controller.start(options);
    good = new SimulatedSwitches(new InetSocketAddress(loopback, controller.port()), 1, 4, 1);
    good.connect();
    Await.until(() -> good.flows() == 3 && controller.status().settled());
    host(good, 1, 0x0a000001);
  }

  /** Whatever happened: the good switch is there, with all its flows, and its hosts are served. */
  @AfterEach
  void othersAreNotAffected() {
    host(good, 2, 0x0a000002);
    assertThat(controller.status().switches()).anyMatch(each -> each.name().equals("good"));
    Await.until(() -> good.flows() >= 5);
    good.close();
    controller.close();
  }

  private static byte[] announcement(int ip) {
    return Arp.request(0x02_0000_0000L + ip, ip, ip).frame();
  }

  private void host(SimulatedSwitches at, int port, int ip) {
    String address = "10.0.0." + (ip & 0xff);
    Await.until(
        () -> {
          at.receive(0, port, announcement(ip));
          return controller.status().hosts().stream()
              .anyMatch(host -> host.addresses().contains(address));
        });
  }

  private void awaitCount(Counter counter, long least) {
    Await.until(() -> controller.counters().get(counter) >= least);
  }

  @Test
  void whatIsNotOpenFlowIsCountedAndCut() throws IOException {
    Random random = new Random(1);
    for (int i = 0; i < 10; i++) {
      try (RawSwitch raw = new RawSwitch(controller.port())) {
        byte[] noise = new byte[4000];
        random.nextBytes(noise);
        raw.send(noise);
        raw.awaitCut();
      } catch (IOException e) {
        // Cut while it was sending.
      }
    }
    awaitCount(Counter.DISCONNECTIONS, 10);
    try (RawSwitch raw = new RawSwitch(controller.port())) {
      raw.send(new byte[] {4, 0, 0, 7, 0, 0, 0, 1, 0});
      raw.awaitCut();
    }
    awaitCount(Counter.MALFORMED_CUTS, 1);
  }

  @Test
  void malformedMessagesOfEveryTypeAreCountedAndTooManyCut() throws IOException {
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
      // Cut while it was sending.
    }
    awaitCount(Counter.MALFORMED_CUTS, 1);
    assertThat(controller.counters().get(Counter.MALFORMED_MESSAGES)).isGreaterThan(100);
  }

  @Test
  void aReaderThatDoesNotReadIsCutOff() throws IOException {
    try (RawSwitch raw = RawSwitch.introduced(controller.port(), 2)) {
      ByteBuffer echo = SimulatedSwitch.message(2, 1, 60_000).position(60_000).flip();
      for (int i = 0; i < 2000 && controller.counters().get(Counter.SLOW_READERS) == 0; i++) {
        raw.send(echo.duplicate());
      }
    } catch (IOException e) {
      // Cut while it was sending.
    }
    awaitCount(Counter.SLOW_READERS, 1);
    Await.until(() -> controller.status().switches().size() == 1);
  }

  @Test
  void aFloodOfPacketInsIsDroppedWhereItComesIn() throws IOException {
    try (RawSwitch raw = RawSwitch.introduced(controller.port(), 2)) {
      Await.until(() -> controller.status().switches().size() == 2);
      for (int i = 0; i < 5000; i++) {
        raw.send(SimulatedSwitch.packetIn(1 + i % 6, announcement(0x0b000000 + i)));
      }
      awaitCount(Counter.PACKET_INS_DROPPED, 1000);
      host(good, 3, 0x0a000003);
      assertThat(controller.status().hosts().size()).isLessThan(4 * 64 + 4);
    }
  }

  @Test
  void aSecondSwitchOfTheSameNumberAndAnUnknownOneAreRefused() throws IOException {
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
  void withoutACommonVersionOrAWordTheConnectionEnds() throws IOException {
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
  void aReplyLargerThanAnyTableIsCut() throws IOException {
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
      // Cut while it was sending.
    }
    awaitCount(Counter.OVERSIZED_REPLIES, 1);
  }

  @Test
  void connectionsBeyondTheMostAreClosed() throws IOException {
    RawSwitch[] many = new RawSwitch[30];
    for (int i = 0; i < many.length; i++) {
      many[i] = new RawSwitch(controller.port());
    }
    awaitCount(Counter.REFUSED_CONNECTIONS, 10);
    for (RawSwitch each : many) {
      each.close();
    }
  }
}
