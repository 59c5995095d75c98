package io.tapline.e2e;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
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
  private static final String QUERY =
      "PARSE queue_burst(delay=5ms) FROM * TO * AT s1:2 LIMIT 1h SAMPLE * PROCESS (top-k: w=1s)";

  /** Type of the block of a packet in a pcapng file. */
  private static final int ENHANCED_PACKET = 6;

  /** Offset of the frame in such a block. */
  private static final int FRAME = 28;

  /** Offset of the source port in an untagged frame whose IP header has no options. */
  private static final int SOURCE_PORT = 14 + 20;

  @TempDir Path folder;

  private Server server;

  @Test
  void theFlowThatFilledTheQueueIsNamed() throws Exception {
    String address = "127.0.0.1:" + Server.freePort();
    try (BurstLinks links = new BurstLinks();
        Cli.Running node = node(links.arrivals, address);
        Server started =
            Server.start(
                "--tap",
                "s1:2:arrivals=" + links.arrivals,
                "--tap",
                "s1:2:departures=" + links.departures,
                "--multilog",
                "queue=" + address)) {
      server = started;
      assertThat(node.process().isAlive()).as("MultiLog node: %s", node.stderr()).isTrue();
      assertThat(get("").path("queues")).isEmpty();
      Cli.Result unmeasured = diagnose("s1:2");
      assertThat(unmeasured.exitCode()).isEqualTo(1);
      assertThat(unmeasured.stderr()).contains("no query has measured bursts at s1:2");
      assertThat(diagnose("s1").stderr()).contains("'s1' is not a queue");
      String id = server.post("/api/v1/queries", QUERY).path("id").asText();
      server.awaitState(id, "running");
      links.send();
      Fabric.await("a burst", () -> get("/s1/2").path("bursts").size() == 1);
      JsonNode report = get("/s1/2");
      assertThat(report.path("queries").get(0).asText()).isEqualTo(id);
      assertNamesTheFlow(report.path("bursts").get(0));
      assertThat(diagnose("s1:2").expectSuccess().stdout())
          .contains("one flow filled the queue: 10.99.1.2:40003 > 10.99.2.2:7000");
      assertThat(packets())
          .isEqualTo(Map.of(40002, BurstLinks.FROM_40002, 40003, BurstLinks.FROM_40003));
      Cli.run("query", "stop", id, "--server", server.url()).expectSuccess();
      server.awaitState(id, "stopped");
      assertThat(diagnose("s1:2", "--json").expectSuccess().json().get(0))
          .as("report after the query has ended")
          .isEqualTo(report);
      assertIsListed(report.path("bursts").get(0));
    }
  }

  private static void assertNamesTheFlow(JsonNode burst) {
    JsonNode culprits = burst.path("culprits");
    assertThat(culprits).hasSize(2);
    assertThat(culprits.get(0).path("source").asText()).isEqualTo("10.99.1.2:40003");
    assertThat(culprits.get(0).path("destination").asText()).isEqualTo("10.99.2.2:7000");
    assertThat(culprits.get(0).path("share").asDouble()).isBetween(0.5, 1.0);
    assertThat(burst.path("victims").asLong()).isBetween(20L, 40L);
  }

  private void assertIsListed(JsonNode burst) throws Exception {
    assertThat(get("").path("queues")).hasSize(1);
    JsonNode queue = get("").path("queues").get(0);
    assertThat(queue.path("queue").asText()).isEqualTo("s1:2");
    assertThat(queue.path("bursts").asInt()).isEqualTo(1);
    assertThat(queue.path("victims")).isEqualTo(burst.path("victims"));
    assertThat(diagnose().expectSuccess().stdout()).contains("longest wait ms", "s1:2");
  }

  /** Starts a MultiLog node that stores the packets that arrive at the queue. */
  private static Cli.Running node(String networkInterface, String address) {
    List<String> command = new ArrayList<>();
    command.add(Cli.root().resolve("build/bin/tapline-multilog").toString());
    command.addAll(List.of("--node", "queue", "--listen", address, "--memory-mib", "64"));
    command.addAll(List.of("--interface", networkInterface));
    return Cli.startCommand(Map.of(), command);
  }

  /** Saves the burst's packets in a file; returns their number by source port. */
  private Map<Integer, Long> packets() throws Exception {
    Path file = folder.resolve("burst.pcapng");
    diagnose("s1:2", "--pcapng", file.toString()).expectSuccess();
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

  private Cli.Result diagnose(String... words) {
    List<String> all = new ArrayList<>(List.of("diagnose", "queue"));
    all.addAll(List.of(words));
    all.addAll(List.of("--server", server.url()));
    return Cli.run(all.toArray(String[]::new));
  }

  private JsonNode get(String queue) throws Exception {
    return Cli.parse(server.get("/api/v1/queues" + queue).body());
  }
}
