package io.tapline.compiler;

import static org.assertj.core.api.Assertions.assertThat;

import io.tapline.compiler.text.Note;
import io.tapline.schema.proto.Address;
import io.tapline.schema.proto.Match;
import java.math.BigInteger;
import java.net.InetAddress;
import java.net.UnknownHostException;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.stream.Collectors;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Tests which packets FROM and TO select. */
class MatchTest {
  /**
   * An address in a query, and the packets that it must match.
   *
   * @param addresses none for any address
   * @param length prefix length
   * @param port 0 for any port
   */
  private record WrittenAddress(String text, List<byte[]> addresses, int length, int port) {
    boolean holds(byte[] address, int itsPort) {
      boolean inside = addresses.isEmpty();
      for (byte[] one : addresses) {
        inside |= one.length == address.length && bits(one, length).equals(bits(address, length));
      }
      return inside && (port == 0 || port == itsPort);
    }
  }

  /** Returns the first {@code length} bits of an address, or all if it has fewer, as text. */
  private static String bits(byte[] address, int length) {
    String bits = new BigInteger(1, address).setBit(address.length * 8).toString(2).substring(1);
    return bits.substring(0, Math.min(length, bits.length()));
  }

  static LongStream seeds() {
    return LongStream.range(0, 20);
  }

  /**
   * Compares a naive evaluation of queries with a naive evaluation of their plans' matches, as
   * plan.proto describes them, on 1,000 packets per seed.
   */
  @ParameterizedTest
  @MethodSource("seeds")
  void agreesWithANaiveEvaluation(long seed) throws UnknownHostException {
    Random random = new Random(seed);
    int selected = 0;
    for (int i = 0; i < 10; i++) {
      selected += selectedOf100(random);
    }
    // Ensures that both outcomes are tested.
    assertThat(selected).isBetween(50, 950);
  }

  private static int selectedOf100(Random random) throws UnknownHostException {
    List<WrittenAddress> sources = side(random);
    List<WrittenAddress> destinations = side(random);
    if (sources.isEmpty() && destinations.isEmpty()) {
      destinations = List.of(written(random));
    }
    Match match = compile(text("FROM", sources) + text("TO", destinations));
    int selected = 0;
    for (int i = 0; i < 100; i++) {
      byte[] client = ip(random);
      byte[] server = ip(random);
      int clientPort = port(random);
      int serverPort = port(random);
      boolean expected =
          holds(sources, client, clientPort) && holds(destinations, server, serverPort);
      boolean actual =
          inList(match.getFromList(), client, clientPort)
              && inList(match.getToList(), server, serverPort);
      assertThat(actual).as("%s %s %s", sources, destinations, match).isEqualTo(expected);
      selected += expected ? 1 : 0;
    }
    return selected;
  }

  private static boolean holds(List<WrittenAddress> side, byte[] ip, int port) {
    return side.isEmpty() || side.stream().anyMatch(address -> address.holds(ip, port));
  }

  private static boolean inList(List<Address> list, byte[] ip, int port)
      throws UnknownHostException {
    boolean inside = list.isEmpty();
    for (Address address : list) {
      inside |=
          (address.getPort() == 0 || address.getPort() == port)
              && inPrefix(address.getPrefix(), ip);
    }
    return inside;
  }

  private static boolean inPrefix(String prefix, byte[] ip) throws UnknownHostException {
    if (prefix.isEmpty()) {
      return true;
    }
    String[] parts = prefix.split("/");
    byte[] network = InetAddress.getByName(parts[0]).getAddress();
    int host = network.length * 8 - Integer.parseInt(parts[1]);
    return network.length == ip.length
        && new BigInteger(1, network)
            .shiftRight(host)
            .equals(new BigInteger(1, ip).shiftRight(host));
  }

  private static String text(String keyword, List<WrittenAddress> side) {
    return side.isEmpty()
        ? ""
        : side.stream()
            .map(WrittenAddress::text)
            .collect(Collectors.joining(", ", keyword + " ", " "));
  }

  private static List<WrittenAddress> side(Random random) throws UnknownHostException {
    List<WrittenAddress> side = new ArrayList<>();
    for (int i = random.nextInt(4); i > 0; i--) {
      side.add(written(random));
    }
    return side;
  }

  private static WrittenAddress written(Random random) throws UnknownHostException {
    int port = random.nextInt(2) * port(random);
    String portText = port == 0 ? (random.nextBoolean() ? "" : ":*") : ":" + port;
    byte[] ip = ip(random);
    String ipText = InetAddress.getByAddress(ip).getHostAddress();
    boolean isIpV6 = ip.length == 16;
    int length = random.nextInt(ip.length * 8 + 1);
    return switch (random.nextInt(5)) {
      case 0 -> new WrittenAddress("*" + portText, List.of(), 0, port);
      case 1 ->
          new WrittenAddress(
              "h2" + portText, List.of(bytes("10.0.2.10"), bytes("2001:db8::2")), 128, port);
      case 2 ->
          new WrittenAddress(
              (isIpV6 ? "[" + ipText + "]" : ipText) + portText, List.of(ip), 128, port);
      default -> new WrittenAddress(ipText + "/" + length + portText, List.of(ip), length, port);
    };
  }

  private static byte[] bytes(String ip) throws UnknownHostException {
    return InetAddress.getByName(ip).getAddress();
  }

  /** Uses few addresses and ports to make matches likely. */
  private static byte[] ip(Random random) throws UnknownHostException {
    String ip =
        random.nextBoolean()
            ? "10.0.%d.%d".formatted(random.nextInt(4), 8 + random.nextInt(4))
            : "2001:db8:%x::%x".formatted(random.nextInt(2), random.nextInt(4));
    return bytes(ip);
  }

  private static int port(Random random) {
    return random.nextBoolean() ? 80 : 3306;
  }

  private static Match compile(String clauses) {
    CompileResult result = Fixtures.compile("PARSE http_get " + clauses + " PROCESS (top-k)");
    assertThat(result.errors()).as(clauses).isEmpty();
    return result.plan().orElseThrow().getMatch();
  }

  @Test
  void writesIpv6LikeRfc5952() {
    assertThat(
            prefixes(
                "TO 2001:0DB8:0:0:1:0:0:1, [::]:80, ::1, 1:0:0:2:0:0:0:3, ::ffff:10.0.0.1, 1:2:3:4:5:6:7:0/112"))
        .containsExactly(
            "2001:db8::1:0:0:1/128",
            "::/128",
            "::1/128",
            "1:0:0:2::3/128",
            "::ffff:a00:1/128",
            "1:2:3:4:5:6:7:0/112");
  }

  private static List<String> prefixes(String clauses) {
    return compile(clauses).getToList().stream().map(Address::getPrefix).toList();
  }

  @Test
  void hostsKeepTheirNamesAndAddresses() {
    Match match = compile("FROM branch TO App_Server:80, web");
    assertThat(match.getFromList())
        .extracting(Address::getPrefix)
        .containsExactly("10.1.0.0/16", "2001:db8:1::/48");
    assertThat(match.getToList())
        .extracting(Address::getHost)
        .containsExactly("app-server", "web", "web", "web");
    assertThat(match.getTo(0).getPort()).isEqualTo(80);
  }

  @Test
  void aMissingSideAndAStarSelectEverything() {
    assertThat(compile("TO h1")).isEqualTo(compile("FROM * TO h1"));
    assertThat(compile("FROM h1")).isEqualTo(compile("FROM h1 TO *:*"));
    assertThat(compile("FROM * TO *:80").getTo(0).getPrefix()).isEmpty();
  }

  @Test
  void notesProbableMistakes() {
    assertThat(notes("FROM * TO *:80"))
        .anyMatch(note -> note.startsWith("neither FROM nor TO names"));
    assertThat(notes("FROM * TO h1")).noneMatch(note -> note.startsWith("neither"));
    assertThat(notes("TO 10.0.2.8/24"))
        .contains("10.0.2.8/24 has bits beyond its prefix length and means 10.0.2.0/24");
    assertThat(notes("TO 2001:db8::1:80"))
        .contains(
            "2001:db8::1:80 is read as an address with any port; for port 80 write [2001:db8::1]:80");
    assertThat(notes("TO h1, *")).contains("TO contains *, so its other addresses have no effect");
    assertThat(notes("TO h1, 10.0.2.7, H1")).contains("TO names H1 twice");
  }

  private static List<String> notes(String clauses) {
    return Fixtures.compile("PARSE http_get " + clauses + " LIMIT 1m SAMPLE * PROCESS (top-k)")
        .notes()
        .stream()
        .map(Note::message)
        .toList();
  }
}
