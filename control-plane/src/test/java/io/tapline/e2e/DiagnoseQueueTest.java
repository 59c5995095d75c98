package io.tapline.e2e;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import com.fasterxml.jackson.databind.JsonNode;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * Tests the diagnosis of a burst that fills a queue between two interface taps, while the queue's
 * query is running and after it has ended.
 */
@MakesNetworkDevices
class DiagnoseQueueTest {
  private static final long TIMEOUT_MS = 60_000;

  /** Type of the block of a packet in a pcapng file. */
  private static final int ENHANCED_PACKET = 6;

  /** Offset of the frame in such a block. */
  private static final int FRAME = 28;

  /** Offset of the source port in an untagged frame whose IP header has no options. */
  private static final int SOURCE_PORT = 14 + 20;

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

  @TempDir Path folder;

  private final String name = "tq" + ProcessHandle.current().pid() % 1_000_000;

  private static boolean run(String... command) throws Exception {
    return new ProcessBuilder(command).inheritIO().start().waitFor() == 0;
  }

  /** Adds a link; returns the end on which the monitor captures. */
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

  @Test
  void theFlowThatFilledTheQueueIsNamed() throws Exception {
    assumeTrue(System.getProperty("user.name").equals("root"), "SKIPPED: links need root");
    String arrivals = link("a");
    String departures = link("d");
    String address = "127.0.0.1:" + Server.freePort();
    Process node = node(arrivals, address);
    try (Server server =
        Server.start(
            "--tap",
            "s1:2:arrivals=" + arrivals,
            "--tap",
            "s1:2:departures=" + departures,
            "--multilog",
            "queue=" + address)) {
      Cli.Result unmeasured = diagnose(server, "s1:2");
      assertThat(unmeasured.exitCode()).isEqualTo(1);
      assertThat(unmeasured.stderr()).contains("no query has measured bursts at s1:2");
      assertThat(diagnose(server, "s1").stderr()).contains("'s1' is not a queue");
      assertThat(list(server)).isEmpty();
      String id =
          server.submit(
              "PARSE queue_burst(delay=5ms) FROM * TO * AT s1:2 LIMIT 1h SAMPLE * PROCESS (top-k: w=1s)");
      server.awaitState(id, "running");
      assertThat(run("python3", "-c", SEND, name + "a1", name + "d1")).isTrue();
      JsonNode report = awaitBurst(server);
      assertThat(report.path("queries").get(0).asText()).isEqualTo(id);
      JsonNode culprits = report.path("bursts").get(0).path("culprits");
      assertThat(culprits).hasSize(2);
      assertThat(culprits.get(0).path("source").asText()).isEqualTo("10.99.1.2:40003");
      assertThat(culprits.get(0).path("destination").asText()).isEqualTo("10.99.2.2:7000");
      assertThat(culprits.get(0).path("share").asDouble()).isBetween(0.5, 1.0);
      assertThat(report.path("bursts").get(0).path("victims").asLong()).isBetween(20L, 40L);
      assertThat(Cli.run("diagnose", "queue", "s1:2", "--server", server.url()).stdout())
          .contains("one flow filled the queue: 10.99.1.2:40003 > 10.99.2.2:7000");
      assertThat(packets(server)).isEqualTo(Map.of(40002, 10L, 40003, 30L));
      Cli.run("query", "stop", id, "--server", server.url()).expectSuccess();
      server.awaitState(id, "stopped");
      assertThat(diagnose(server, "s1:2").expectSuccess().json().get(0).path("bursts"))
          .as("bursts of an ended query")
          .hasSize(1);
      assertThat(list(server)).hasSize(1);
      JsonNode queue = list(server).get(0);
      assertThat(queue.path("queue").asText()).isEqualTo("s1:2");
      assertThat(queue.path("bursts").asInt()).isEqualTo(1);
      assertThat(queue.path("victims")).isEqualTo(report.path("bursts").get(0).path("victims"));
      assertThat(Cli.run("diagnose", "queue", "--server", server.url()).expectSuccess().stdout())
          .contains("longest wait ms", "s1:2");
    } finally {
      node.destroy();
      node.waitFor();
      run("ip", "link", "delete", arrivals);
      run("ip", "link", "delete", departures);
    }
  }

  /** Starts a MultiLog node that stores the packets that arrive at the queue. */
  private Process node(String networkInterface, String address) throws Exception {
    return new ProcessBuilder(
            Cli.root().resolve("build/bin/tapline-multilog").toString(),
            "--node",
            "queue",
            "--listen",
            address,
            "--memory-mib",
            "64",
            "--interface",
            networkInterface)
        .redirectError(folder.resolve("node.log").toFile())
        .start();
  }

  /** Saves the burst's packets in a file; returns their number by source port. */
  private Map<Integer, Long> packets(Server server) throws Exception {
    Path file = folder.resolve("burst.pcapng");
    Cli.run("diagnose", "queue", "s1:2", "--pcapng", file.toString(), "--server", server.url())
        .expectSuccess();
    ByteBuffer blocks = ByteBuffer.wrap(Files.readAllBytes(file)).order(ByteOrder.LITTLE_ENDIAN);
    Map<Integer, Long> packets = new TreeMap<>();
    for (int offset = 0; offset < blocks.limit(); offset += blocks.getInt(offset + 4)) {
      if (blocks.getInt(offset) == ENHANCED_PACKET) {
        int high = blocks.get(offset + FRAME + SOURCE_PORT) & 0xff;
        int low = blocks.get(offset + FRAME + SOURCE_PORT + 1) & 0xff;
        packets.merge(high << 8 | low, 1L, Long::sum);
      }
    }
    return packets;
  }

  private static Cli.Result diagnose(Server server, String queue) throws Exception {
    return Cli.run("diagnose", "queue", queue, "--json", "--server", server.url());
  }

  private static List<JsonNode> list(Server server) throws Exception {
    return Cli.run("diagnose", "queue", "--json", "--server", server.url()).expectSuccess().json();
  }

  private static JsonNode awaitBurst(Server server) throws Exception {
    long end = System.currentTimeMillis() + TIMEOUT_MS;
    JsonNode report;
    do {
      report = diagnose(server, "s1:2").expectSuccess().json().get(0);
    } while (report.path("bursts").isEmpty() && System.currentTimeMillis() < end);
    assertThat(report.path("bursts")).hasSize(1);
    return report;
  }
}
