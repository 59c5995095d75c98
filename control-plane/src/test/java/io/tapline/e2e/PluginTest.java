package io.tapline.e2e;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import com.fasterxml.jackson.databind.JsonNode;
import io.tapline.control.testing.Await;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * Tests an out-of-tree parser in the whole pipeline, including crashes and hangs during a query.
 * The plug-in is built from {@code parsers/plugin/testing} with the installed header; payloads that
 * begin with CRASH or HANG make it crash or hang.
 */
class PluginTest {
  private static final int PACKETS = 3000;
  private static final int FLOWS = 20;
  private static final int BURST = 64;
  private static final String QUERY =
      "PARSE marker FROM * TO *:80 LIMIT 90s SAMPLE * PROCESS (group-count: group=kind)";
  private static final String OTHER =
      "PARSE tcp_pkt_size FROM * TO *:80 LIMIT 90s SAMPLE * PROCESS (group-sum: group=dst_ip, by=packets)";

  @TempDir Path temporary;
  private String plugin;

  @BeforeEach
  void findThePlugin() {
    Path built = Cli.root().resolve("build/tests/plugins/marker.so");
    assertThat(built).as("the native tests must be built first: make native").isRegularFile();
    plugin = built.toString();
  }

  @Test
  void aQueryNamesItsParser() throws Exception {
    List<JsonNode> rows = last(run(capture(Map.of())));
    assertThat(rows).hasSize(1);
    assertThat(rows.get(0).get("key").get("kind").asText()).isEqualTo("packet");
    assertThat(rows.get(0).get("value").asLong()).isEqualTo(PACKETS);
    assertThat(rows.get(0).get("completeness").get("dropped")).isEmpty();
    Cli.Result shownResult = Cli.run("parsers", "marker", "--plugin", plugin).expectSuccess();
    assertThat(shownResult.stdout()).contains("Payloads, for tests").contains("kind");
  }

  @Test
  void lossesOfARestartAreNamed() throws Exception {
    Cli.Result result = run(capture(Map.of(1500, "CRASH")));
    assertThat(result.stderr()).contains(plugin).contains("SIGSEGV").doesNotContain("is disabled");
    JsonNode row = last(result).get(0);
    JsonNode completeness = row.get("completeness");
    JsonNode dropped = completeness.get("dropped");
    assertThat(completeness.get("packets_in").asLong()).isEqualTo(PACKETS);
    assertThat(dropped.get("monitor_restarted").asLong()).isPositive();
    assertThat(dropped.has("missing_batch")).isFalse();
    // The parser emits a tuple for each packet, and missing tuples are reported. All packets of the
    // burst in progress count as lost, although the tuples of some may have been sent.
    assertThat(
            row.get("value").asLong()
                + dropped.path("monitor_restarted").asLong()
                + dropped.path("monitor_restarted_tuples").asLong())
        .isBetween((long) PACKETS, PACKETS + BURST - 1L);
  }

  @Test
  void aPluginThatFailsTwiceIsDisabledAndNamed() throws Exception {
    Path capture = capture(Map.of(1000, "CRASH", 2000, "HANG", 2500, "CRASH"));
    assertThat(run(capture).stderr())
        .contains(plugin)
        .contains("did not return")
        .contains("is disabled");
    try (Server server = Server.start("--pcap", capture.toString(), "--plugin", plugin)) {
      String id = server.submit(QUERY);
      server.awaitState(id, "finished");
      // The rows are not checked, since all tuples may have been pending in the two processes that
      // ended.
      JsonNode totals = Cli.parse(server.get("/api/v1/queries/" + id).body()).get("totals");
      assertThat(totals.get("packets_in").asLong()).isEqualTo(PACKETS);
      assertThat(totals.get("dropped").path("plugin_left_out_flows").asLong()).isEqualTo(FLOWS);
    }
  }

  @Test
  void otherQueriesContinue() throws Exception {
    Path capture = capture(Map.of(1000, "HANG", 2000, "CRASH"));
    try (Server server = Server.start("--pcap", capture.toString(), "--plugin", plugin)) {
      String mine = server.submit(QUERY);
      String otherQuery = server.submit(OTHER);
      server.awaitState(mine, "finished");
      server.awaitState(otherQuery, "finished");
      JsonNode row =
          last(Cli.run("query", "results", otherQuery, "--server", server.url(), "--json")
                  .expectSuccess())
              .get(0);
      JsonNode dropped = row.get("completeness").get("dropped");
      assertThat(row.get("completeness").get("packets_in").asLong()).isEqualTo(PACKETS);
      long lost = PACKETS - row.get("value").asLong();
      assertThat(lost).as("dropped: %s", dropped).isNotNegative();
      // Missing tuples must be accounted for. Their number is unknown, since the plug-in may damage
      // anything in a process that it shares.
      assertThat(lost > 0).isEqualTo(dropped.has("monitor_restarted"));
    }
  }

  /** Tests that a worker that restarts after a crash resumes its current queries. */
  @Test
  void aLiveMonitorRestartsWithItsQueries() throws Exception {
    assumeTrue(
        System.getProperty("user.name").equals("root"), "SKIPPED: listening on lo needs root");
    try (ServerSocket listener = new ServerSocket(0, 5, InetAddress.getLoopbackAddress());
        Server server = Server.start("--interface", "lo", "--plugin", plugin)) {
      String query =
          "PARSE marker FROM * TO *:%d LIMIT 1h SAMPLE * PROCESS (group-count: group=text)";
      String id = server.submit(query.formatted(listener.getLocalPort()));
      server.awaitState(id, "running");
      long deadline = System.nanoTime() + 90_000_000_000L;
      say(listener, "CRASH");
      do {
        assertThat(System.nanoTime()).as("received after the crash").isLessThan(deadline);
        say(listener, "after");
        Thread.sleep(200);
      } while (!shows(server, id, "after"));
      Await.until(
          "the losses of the crash are counted",
          Duration.ofSeconds(30),
          () -> restarts(server, id) > 0);
      Cli.run("query", "stop", id, "--server", server.url()).expectSuccess();
    }
  }

  private static long restarts(Server server, String id) throws Exception {
    JsonNode totals = Cli.parse(server.get("/api/v1/queries/" + id).body()).get("totals");
    return totals.path("dropped").path("monitor_restarted").asLong();
  }

  /** Sends a string over a new connection. */
  private static void say(ServerSocket listener, String text) throws IOException {
    try (Socket client = new Socket(listener.getInetAddress(), listener.getLocalPort());
        Socket accepted = listener.accept()) {
      client.getOutputStream().write(text.getBytes(StandardCharsets.US_ASCII));
      client.getOutputStream().flush();
      assertThat(accepted.getInputStream().read()).isPositive();
    }
  }

  private static boolean shows(Server server, String id, String text) throws Exception {
    for (JsonNode row :
        Cli.parse(server.get("/api/v1/queries/" + id + "/results").body()).get("rows")) {
      if (row.get("key").get("text").asText().equals(text)) {
        return true;
      }
    }
    return false;
  }

  @Test
  void invalidPluginsAreErrors() {
    String file = Cli.root().resolve("Makefile").toString();
    Cli.Result result = Cli.run("parsers", "--plugin", file);
    assertThat(result.exitCode()).isEqualTo(1);
    assertThat(result.stderr()).contains(file).contains("cannot be loaded");
    assertThat(Cli.run("parsers", "--plugin", "/nowhere.so").stderr()).contains("/nowhere.so");
  }

  private Cli.Result run(Path capture) {
    return Cli.run("run", QUERY, "--plugin", plugin, "--pcap", capture.toString(), "--json")
        .expectSuccess();
  }

  /** Returns the rows of the last window. */
  private static List<JsonNode> last(Cli.Result result) {
    Map<Long, List<JsonNode>> windows = new HashMap<>();
    for (JsonNode row : result.json()) {
      windows.computeIfAbsent(row.get("window_end_ns").asLong(), end -> new ArrayList<>()).add(row);
    }
    return windows.get(windows.keySet().stream().max(Long::compare).orElseThrow());
  }

  /**
   * Returns a pcap file of packets to port 80, all within a second.
   *
   * @param marks payloads by packet number; all other packets have the default payload
   */
  private Path capture(Map<Integer, String> marks) throws IOException {
    ByteBuffer file = ByteBuffer.allocate(PACKETS * 128).order(ByteOrder.LITTLE_ENDIAN);
    file.putInt(0xa1b23c4d).putShort((short) 2).putShort((short) 4).putInt(0).putInt(0);
    file.putInt(65_535).putInt(1);
    for (int i = 0; i < PACKETS; i++) {
      byte[] payload = marks.getOrDefault(i, "packet " + i).getBytes(StandardCharsets.US_ASCII);
      file.putInt(1_795_000_000).putInt(100_000 * i);
      file.putInt(54 + payload.length).putInt(54 + payload.length);
      file.put(frame(40_000 + i % FLOWS, i + 1, payload));
    }
    Path path = temporary.resolve("marked.pcap");
    Files.write(path, Arrays.copyOf(file.array(), file.position()));
    return path;
  }

  private static byte[] frame(int port, int sequence, byte[] payload) {
    ByteBuffer frame = ByteBuffer.allocate(54 + payload.length);
    frame.put(new byte[] {2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 8, 0});
    frame.put((byte) 0x45).put((byte) 0).putShort((short) (40 + payload.length));
    frame.putInt(0).put((byte) 64).put((byte) 6).putShort((short) 0);
    frame.put(new byte[] {10, 0, 0, 1, 10, 0, 0, 2});
    frame.putShort((short) port).putShort((short) 80).putInt(sequence).putInt(0);
    frame.put((byte) 0x50).put((byte) 0x18).putShort((short) 1000).putInt(0);
    return frame.put(payload).array();
  }
}
