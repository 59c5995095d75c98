package io.tapline.control.drill;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.data.Percentage.withPercentage;

import com.fasterxml.jackson.databind.node.ObjectNode;
import com.google.common.util.concurrent.Futures;
import io.tapline.control.drill.DrillException.Kind;
import io.tapline.control.drill.DrillService.Headers;
import io.tapline.control.drill.DrillService.Numbers;
import java.io.ByteArrayOutputStream;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * Tests drill-down with two real nodes that read the same capture; the second keeps only packets to
 * port 80.
 */
class DrillServiceTest {
  @TempDir static Path folder;
  private static NodeProcess first;
  private static NodeProcess second;
  private static DrillService both;

  @BeforeAll
  static void start() throws Exception {
    Path capture = NodeProcess.capture("http_small.pcap.zst");
    first = NodeProcess.start(folder, "h1", capture);
    second = NodeProcess.start(folder, "h2", capture, "--filter", "dst_port == 80");
    both = new DrillService(List.of(first.address(), second.address()));
  }

  @AfterAll
  static void stop() throws Exception {
    both.close();
    first.close();
    second.close();
  }

  private static DrillRequest all(String filter, String... nodes) {
    return new DrillRequest(filter, 0, 0, DrillRequest.MAX_ROWS, List.of(nodes));
  }

  private static long count(DrillService drill, String filter, String... nodes)
      throws DrillException {
    DrillAggregate count = DrillAggregate.parse("count", List.of());
    List<Map.Entry<List<String>, Double>> groups =
        drill.numbers(all(filter, nodes), count).groups();
    return Math.round(groups.get(0).getValue());
  }

  @Test
  void headersOfAllNodesAreOrderedByTime() throws Exception {
    Headers headers = both.headers(all("dst_port == 80"));
    assertThat(headers.queried()).containsExactly("h1", "h2");
    assertThat(headers.missing()).isEmpty();
    assertThat(headers.truncated()).isFalse();
    assertThat(headers.rows()).hasSize((int) count(both, "dst_port == 80")).hasSizeGreaterThan(10);
    assertThat(headers.rows())
        .isSortedAccordingTo(
            Comparator.comparingLong(DrillServiceTest::time)
                .thenComparing(row -> row.path("node").asText()))
        .allSatisfy(row -> assertThat(row.path("dst_port").asInt()).isEqualTo(80));
    List<ObjectNode> ofFirst = both.headers(all("dst_port == 80", "h1")).rows();
    List<ObjectNode> ofSecond = both.headers(all("", "h2", "h2")).rows();
    assertThat(ofFirst).hasSameSizeAs(ofSecond).hasSize(headers.rows().size() / 2);
  }

  private static long time(ObjectNode row) {
    return row.path("time_ns").asLong();
  }

  @Test
  void exceedingTheLimitIsReported() throws Exception {
    Headers headers = both.headers(new DrillRequest("", 0, 0, 5, List.of()));
    assertThat(headers.rows()).hasSize(5);
    assertThat(headers.truncated()).isTrue();
    List<ObjectNode> all = both.headers(new DrillRequest("", 0, 0, 0, List.of())).rows();
    assertThat(all).hasSize((int) count(both, ""));
    long exactly = count(both, "", "h2");
    assertThat(both.headers(new DrillRequest("", 0, 0, exactly, List.of("h2"))).truncated())
        .isFalse();
  }

  @Test
  void timesLimitTheRows() throws Exception {
    List<ObjectNode> rows = both.headers(all("", "h1")).rows();
    long beginNs = time(rows.get(10));
    long endNs = time(rows.get(20));
    DrillRequest request =
        new DrillRequest("", beginNs, endNs, DrillRequest.MAX_ROWS, List.of("h1"));
    assertThat(both.headers(request).rows())
        .hasSize(
            (int) rows.stream().filter(row -> time(row) >= beginNs && time(row) <= endNs).count());
  }

  @Test
  void aggregatesMatchTheRows() throws Exception {
    List<ObjectNode> rows = both.headers(all("")).rows();
    long bytes = rows.stream().mapToLong(row -> row.path("bytes").asLong()).sum();
    Map<String, Double> wanted =
        Map.of(
            "SUM(bytes)",
            (double) bytes,
            "COUNT",
            (double) rows.size(),
            "avg(bytes)",
            (double) bytes / rows.size(),
            "MAX(bytes)",
            rows.stream().mapToDouble(row -> row.path("bytes").asDouble()).max().getAsDouble(),
            "MIN(bytes)",
            rows.stream().mapToDouble(row -> row.path("bytes").asDouble()).min().getAsDouble());
    for (Map.Entry<String, Double> entry : wanted.entrySet()) {
      Numbers numbers = both.numbers(all(""), DrillAggregate.parse(entry.getKey(), List.of()));
      assertThat(numbers.groups().get(0).getValue()).as(entry.getKey()).isEqualTo(entry.getValue());
    }
  }

  /** Tests aggregates whose results can't be merged, so that the nodes return their states. */
  @Test
  void statesOfSeveralNodesAreMerged() throws Exception {
    List<ObjectNode> rows = both.headers(all("")).rows();
    double[] bytes =
        rows.stream().mapToDouble(row -> row.path("bytes").asDouble()).sorted().toArray();
    double mean = Arrays.stream(bytes).average().getAsDouble();
    double variance = Arrays.stream(bytes).map(value -> (value - mean) * (value - mean)).sum();
    assertThat(number("STDEV(bytes)"))
        .isCloseTo(Math.sqrt(variance / bytes.length), withPercentage(1e-6));
    assertThat(number("QUANTILE(bytes)")).isCloseTo(bytes[bytes.length / 2], withPercentage(1.6));
    assertThat(number("quantile(bytes, 0.9)"))
        .isCloseTo(bytes[bytes.length * 9 / 10], withPercentage(1.6));
    long ports = rows.stream().map(row -> row.path("src_port")).distinct().count();
    assertThat(number("DISTINCT(src_port)")).isCloseTo(ports, withPercentage(7));
  }

  @Test
  void statesOfGroupsAreMergedByGroup() throws Exception {
    List<ObjectNode> rows = both.headers(all("")).rows();
    Numbers numbers =
        both.numbers(all(""), DrillAggregate.parse("DISTINCT(src_port)", List.of("dst_port")));
    assertThat(numbers.missing()).isEmpty();
    assertThat(numbers.groups())
        .hasSizeGreaterThan(1)
        .allSatisfy(
            group ->
                assertThat(group.getValue())
                    .isCloseTo(
                        rows.stream()
                            .filter(
                                row -> row.path("dst_port").asText().equals(group.getKey().get(0)))
                            .map(row -> row.path("src_port"))
                            .distinct()
                            .count(),
                        withPercentage(7)));
  }

  private static double number(String aggregate) throws DrillException {
    return both.numbers(all(""), DrillAggregate.parse(aggregate, List.of()))
        .groups()
        .get(0)
        .getValue();
  }

  @Test
  void groupsOfSeveralNodesAreOne() throws Exception {
    Numbers numbers =
        both.numbers(all(""), DrillAggregate.parse("COUNT", List.of("src_ip", "dst_port")));
    List<ObjectNode> rows = both.headers(all("")).rows();
    assertThat(numbers.groups().size()).isGreaterThan(1);
    assertThat(numbers.groups())
        .allSatisfy(
            group ->
                assertThat(group.getValue())
                    .isEqualTo(
                        rows.stream()
                            .filter(
                                row ->
                                    row.path("src_ip").asText().equals(group.getKey().get(0))
                                        && row.path("dst_port")
                                            .asText()
                                            .equals(group.getKey().get(1)))
                            .count()));
    assertThat(numbers.groups().stream().mapToDouble(Map.Entry::getValue).sum())
        .isEqualTo(rows.size());
  }

  /** Tests that only the hosts at both ends of the flow are queried if the filter names both. */
  @Test
  void queriesOnlyHostsThatMayHaveSeenThePackets() throws Exception {
    ObjectNode row = both.headers(all("dst_port == 80")).rows().get(0);
    String source = row.path("src_ip").asText();
    String destination = row.path("dst_ip").asText();
    Map<String, List<String>> addresses =
        Map.of("h1", List.of(destination + "/32"), "h2", List.of("192.0.2.0/24", "2001:db8::/64"));
    List<NodeAddress> nodes = List.of(first.address(), second.address());
    try (DrillService drill =
        new DrillService(nodes, name -> addresses.getOrDefault(name, List.of()))) {
      String between = "src_ip == " + source + " && dst_ip == " + destination;
      Headers headers = drill.headers(all(between));
      assertThat(headers.queried()).containsExactly("h1");
      assertThat(headers.leftOut()).containsOnlyKeys("h2");
      assertThat(headers.leftOut().get("h2")).contains("192.0.2.0/24");
      assertThat(headers.missing()).isEmpty();
      assertThat(headers.rows()).hasSameSizeAs(both.headers(all(between, "h1")).rows());
      assertThat(drill.headers(all("src_ip == " + source)).queried()).containsExactly("h1", "h2");
      assertThat(drill.headers(all(between + " || dst_port == 443")).leftOut()).isEmpty();
      assertThat(drill.headers(all(between, "h2")).queried()).containsExactly("h2");
      Headers none = drill.headers(all("src_ip == 198.51.100.1 && dst_ip == 198.51.100.2"));
      assertThat(none.rows()).isEmpty();
      assertThat(none.leftOut()).containsOnlyKeys("h1", "h2");
      assertThat(drill.headers(all("src_ip6 == 2001:db8::7 && dst_ip6 == ::1")).queried())
          .containsExactly("h2");
      assertThatThrownBy(() -> drill.headers(all("src_ip == ")))
          .isInstanceOfSatisfying(
              DrillException.class, e -> assertThat(e.kind()).isEqualTo(Kind.INVALID));
    }
  }

  @Test
  void pcapngHasASectionForEachNode() throws Exception {
    ByteArrayOutputStream out = new ByteArrayOutputStream();
    DrillRequest request = new DrillRequest("dst_port == 80", 0, 0, 0, List.of());
    assertThat(both.pcapng(request, out)).isEmpty();
    ByteBuffer file = ByteBuffer.wrap(out.toByteArray()).order(ByteOrder.LITTLE_ENDIAN);
    int sections = 0;
    int packets = 0;
    for (int offset = 0; offset < file.limit(); offset += file.getInt(offset + 4)) {
      sections += file.getInt(offset) == 0x0a0d0d0a ? 1 : 0;
      packets += file.getInt(offset) == 6 ? 1 : 0;
    }
    assertThat(sections).isEqualTo(2);
    assertThat(packets).isEqualTo((int) count(both, "dst_port == 80"));
  }

  @Test
  void invalidRequestsAreTheCallersFault() {
    assertThatThrownBy(() -> both.headers(all("dst_prt == 80")))
        .isInstanceOfSatisfying(
            DrillException.class, e -> assertThat(e.kind()).isEqualTo(Kind.INVALID))
        .hasMessageContaining("dst_prt")
        .hasMessageContaining("at byte 0");
    assertThatThrownBy(() -> both.headers(all("", "h3")))
        .isInstanceOfSatisfying(
            DrillException.class, e -> assertThat(e.kind()).isEqualTo(Kind.NOT_FOUND))
        .hasMessageContaining("h3");
    assertThatThrownBy(() -> DrillAggregate.parse("SUM", List.of()))
        .hasMessageContaining("needs a field");
    assertThatThrownBy(() -> DrillAggregate.parse("median(bytes)", List.of()))
        .hasMessageContaining("median");
    assertThatThrownBy(() -> DrillAggregate.parse("QUANTILE(bytes, 1.5)", List.of()))
        .hasMessageContaining("1.5");
    assertThatThrownBy(() -> DrillAggregate.parse("SUM(bytes, 0.5)", List.of()))
        .hasMessageContaining("only QUANTILE");
    assertThatThrownBy(() -> new DrillService(List.of()).headers(all("")))
        .hasMessageContaining("--multilog");
  }

  /**
   * Tests one node that was killed, one that accepts connections but does not answer, and one that
   * does not speak gRPC.
   */
  @Test
  void silentNodesAreNamedAndTheOthersAnswer() throws Exception {
    NodeProcess dead =
        NodeProcess.start(folder, "dead", NodeProcess.capture("http_small.pcap.zst"));
    dead.kill();
    try (ServerSocket mute = new ServerSocket(0, 8, InetAddress.getLoopbackAddress());
        ServerSocket garbage = new ServerSocket(0, 8, InetAddress.getLoopbackAddress())) {
      Thread speaker = new Thread(() -> speak(garbage));
      speaker.setDaemon(true);
      speaker.start();
      List<NodeAddress> addresses =
          List.of(
              first.address(),
              dead.address(),
              new NodeAddress("mute", "127.0.0.1:" + mute.getLocalPort()),
              new NodeAddress("garbage", "127.0.0.1:" + garbage.getLocalPort()));
      try (DrillService drill = new DrillService(addresses)) {
        Headers headers = drill.headers(all(""));
        assertThat(headers.queried()).containsExactly("h1");
        assertThat(headers.missing()).containsOnlyKeys("dead", "mute", "garbage");
        assertThat(headers.rows()).hasSize((int) count(both, "", "h1"));
      }
    }
  }

  private static void speak(ServerSocket garbage) {
    List<Socket> sockets = new ArrayList<>();
    try {
      while (true) {
        Socket socket = garbage.accept();
        sockets.add(socket);
        socket.getOutputStream().write("HTTP/1.1 200 OK\r\n\r\nno gRPC\r\n".getBytes());
        socket.getOutputStream().flush();
      }
    } catch (java.io.IOException e) {
      sockets.clear();
    }
  }

  /**
   * Tests coordinators that are killed at various times. Nodes detect the broken stream, so they do
   * not stay frozen, and a snapshot that was disturbed is retried.
   */
  @Test
  void aKilledCoordinatorFreezesNoNode() throws Exception {
    for (int kill = 0; kill < 3; kill++) {
      Process coordinator =
          new ProcessBuilder(
                  Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                  "-XX:TieredStopAtLevel=1",
                  "-cp",
                  System.getProperty("java.class.path"),
                  SnapshotLoop.class.getName(),
                  "h2=" + second.address().target())
              .redirectError(folder.resolve("coordinator.log").toFile())
              .start();
      try {
        assertThat(coordinator.inputReader().readLine()).isEqualTo("running");
        Thread.sleep(20 + 37L * kill);
      } finally {
        coordinator.destroyForcibly().waitFor();
      }
      long previousNanoTime = System.nanoTime();
      assertThat(eventually(() -> count(both, "", "h2"))).isPositive();
      assertThat(Duration.ofNanos(System.nanoTime() - previousNanoTime))
          .as("long before a freeze of 60 s would expire")
          .isLessThan(Duration.ofSeconds(30));
    }
  }

  private interface Question {
    long ask() throws DrillException;
  }

  /** Retries a query that fails because another coordinator has frozen the node. */
  private static long eventually(Question question) throws Exception {
    while (true) {
      try {
        return question.ask();
      } catch (DrillException e) {
        assertThat(e.kind()).isEqualTo(Kind.BUSY);
      }
    }
  }

  /** Tests that a freeze of a minute ends early, with the stream that started it. */
  @Test
  void aFreezeEndsWithItsStream() throws Exception {
    NodeClient otherNode = new NodeClient(second.address(), NodeAccess.LOCAL);
    try (otherNode) {
      Futures.getUnchecked(otherNode.freeze(Duration.ofSeconds(60)));
      assertThatThrownBy(() -> count(both, ""))
          .isInstanceOfSatisfying(
              DrillException.class, e -> assertThat(e.kind()).isEqualTo(Kind.BUSY));
    }
    assertThat(eventually(() -> count(both, ""))).isPositive();
  }

  /** Tests a live coordinator that never unfreezes the node. */
  @Test
  void aFreezeExpiresIfNoCoordinatorEndsIt() throws Exception {
    try (NodeClient otherNode = new NodeClient(first.address(), NodeAccess.LOCAL)) {
      Futures.getUnchecked(otherNode.freeze(Duration.ofMillis(30)));
      assertThat(count(both, "")).isPositive();
      Futures.getUnchecked(otherNode.freeze(Duration.ofSeconds(60)));
      assertThatThrownBy(() -> count(both, ""))
          .isInstanceOfSatisfying(
              DrillException.class, e -> assertThat(e.kind()).isEqualTo(Kind.BUSY));
    } finally {
      first.close();
      first = NodeProcess.start(folder, "h1", NodeProcess.capture("http_small.pcap.zst"));
    }
  }
}
