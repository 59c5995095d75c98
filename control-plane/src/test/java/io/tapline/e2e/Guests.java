package io.tapline.e2e;

import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.stream.IntStream;

/**
 * Guests, which move between a testbed's hosts. A guest is a pair of addresses (Ethernet and IPv4)
 * that a host announces by gratuitous ARP, but does not answer for.
 */
final class Guests {
  private static final String ANNOUNCE =
      """
      import socket, sys, time
      link = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
      link.bind(("eth0", 0))
      for repetition in range(int(sys.argv[1])):
          for guest in map(int, sys.argv[2].split(",")):
              mac, ip = bytes([2, 0, 0, 7, 0, guest]), bytes([10, 200, 0, guest])
              arp = bytes.fromhex("0001080006040001") + mac + ip + bytes(6) + ip
              link.send(b"\\xff" * 6 + mac + b"\\x08\\x06" + arp + bytes(18))
              time.sleep(0.02)
          time.sleep(float(sys.argv[3]))
      """;

  /** Hosts with guests, each behind a separate edge switch. */
  private static final List<String> HOSTS = List.of("h-0-0-1", "h-1-0-0", "h-2-0-0", "h-3-1-1");

  private static final int PER_HOST = 50;
  private final Fabric fabric;
  private final List<String> places = new ArrayList<>();
  private final Random random;

  Guests(Fabric fabric, Random random) {
    this.fabric = fabric;
    this.random = random;
    HOSTS.forEach(host -> IntStream.range(0, PER_HOST).forEach(guest -> places.add(host)));
  }

  int count() {
    return places.size();
  }

  /** Returns a guest's Ethernet address. */
  static String mac(int guest) {
    return "02:00:00:07:00:%02x".formatted(guest);
  }

  /** Announces all guests. */
  void arrive() {
    for (String host : HOSTS) {
      List<String> here =
          IntStream.range(0, count())
              .filter(guest -> places.get(guest).equals(host))
              .mapToObj(Integer::toString)
              .toList();
      announce(host, String.join(",", here), 2, 0.1);
    }
  }

  /**
   * Moves a random guest to another host. The controller accepts the announcement once the guest
   * has not answered at its previous host for a second.
   *
   * @return the guest
   */
  int move() {
    int guest = random.nextInt(count());
    List<String> others = HOSTS.stream().filter(host -> !host.equals(places.get(guest))).toList();
    places.set(guest, others.get(random.nextInt(others.size())));
    announce(places.get(guest), Integer.toString(guest), 3, 0.6);
    return guest;
  }

  private void announce(String host, String guests, int repetitions, double pause) {
    try (Cli.Running running =
        fabric.start(host, "python3", "-c", ANNOUNCE, "" + repetitions, guests, "" + pause)) {
      running.await(60).expectSuccess();
    }
  }
}
