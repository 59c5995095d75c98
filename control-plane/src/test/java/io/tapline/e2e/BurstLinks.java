package io.tapline.e2e;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.util.List;

/**
 * Two virtual links with packets from both sides of an imaginary queue: those that arrive at it on
 * the first, those that leave it on the second.
 */
final class BurstLinks implements AutoCloseable {
  /** Number of datagrams in the burst from port 40003, and from port 40002. */
  static final long FROM_40003 = 30;

  static final long FROM_40002 = 10;

  /**
   * Sends 40 datagrams, three out of four from port 40003, in one burst on the first interface, and
   * one by one on the second. Before and after the burst, sends some datagrams that are not queued.
   */
  private static final String SEND =
      """
      import socket, struct, sys, time
      def sender(device):
          one = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
          one.bind((device, 0))
          return one
      arrivals, departures = sender(sys.argv[1]), sender(sys.argv[2])
      def datagram(port, number):
          udp = struct.pack("!HHHH", port, 7000, 1208, 0) + bytes(1200)
          ip = struct.pack("!BBHHHBBH4s4s", 0x45, 0, 1228, number, 0, 64, 17, 0, bytes([10, 99, 1, 2]), bytes([10, 99, 2, 2]))
          return bytes(12) + b"\\x08\\x00" + ip + udp
      def crosses(number):
          arrivals.send(datagram(40001, number))
          departures.send(datagram(40001, number))
          time.sleep(0.01)
      for i in range(20): crosses(1000 + i)
      burst = [datagram(40002 if i % 4 == 0 else 40003, i + 1) for i in range(40)]
      for each in burst: arrivals.send(each)
      for each in burst:
          time.sleep(0.001)
          departures.send(each)
      time.sleep(0.1)
      for i in range(20): crosses(2000 + i)
      """;

  /** The ends of the links on which monitors capture. */
  final String arrivals;

  final String departures;

  private final String name = "tq" + ProcessHandle.current().pid() % 1_000_000;

  /** Adds the links; skips the test if this host can't. */
  BurstLinks() throws Exception {
    assumeTrue(System.getProperty("user.name").equals("root"), "SKIPPED: links need root");
    arrivals = link("a");
    departures = link("d");
  }

  private static boolean run(String... command) throws Exception {
    return new ProcessBuilder(command).inheritIO().start().waitFor() == 0;
  }

  /** Adds a link; returns the end on which monitors capture. */
  private String link(String side) throws Exception {
    String here = name + side + "0";
    String there = name + side + "1";
    assumeTrue(
        run("ip", "link", "add", here, "type", "veth", "peer", "name", there),
        "SKIPPED: virtual links are not available");
    for (String device : List.of(here, there)) {
      assertThat(run("ip", "link", "set", device, "up")).isTrue();
    }
    return here;
  }

  void send() throws Exception {
    assertThat(run("python3", "-c", SEND, name + "a1", name + "d1")).isTrue();
  }

  @Override
  public void close() throws Exception {
    run("ip", "link", "delete", arrivals);
    run("ip", "link", "delete", departures);
  }
}
