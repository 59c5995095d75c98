package io.tapline.e2e;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import io.tapline.control.testing.FreePort;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * Suspends or kills a server after it has frozen two nodes and before it unfreezes them. To provide
 * time for that, a third node is suspended: the server waits a second for it while the other two
 * are frozen.
 */
class FrozenNodesTest {
  private static final long SECONDS = 120;

  /**
   * Number of packets that form whole batches of a node's capture, since a partial batch would wait
   * for more input from the pipe.
   */
  private static final int SOME = 256;

  private static final List<String> NAMES = List.of("a", "b", "still");

  /** Time after which an unfreeze that was in flight when the server stopped has arrived. */
  private static final long ON_ITS_WAY_MS = 300;

  @TempDir Path folder;
  private final HttpClient http = HttpClient.newHttpClient();
  private final List<Node> nodes = new ArrayList<>();
  private Node still;
  private Server server;

  private record Node(Cli.Running running, PacketPipe packets, String address, int metrics) {}

  @BeforeEach
  void start() throws Exception {
    for (String name : NAMES) {
      nodes.add(node(name));
    }
    still = nodes.get(2);
    server = Server.start(arguments());
    for (Node node : nodes) {
      feed(node);
    }
    await("all nodes answer", () -> count(drill().get()) == 3 * SOME);
  }

  private String[] arguments() {
    List<String> arguments = new ArrayList<>();
    for (int i = 0; i < NAMES.size(); i++) {
      arguments.addAll(List.of("--multilog", NAMES.get(i) + "=" + nodes.get(i).address()));
    }
    return arguments.toArray(String[]::new);
  }

  private Node node(String name) throws Exception {
    PacketPipe packets = new PacketPipe(folder.resolve(name + ".pcap"));
    int metrics = FreePort.any();
    String address = "unix:" + folder.resolve(name + ".sock");
    List<String> command = new ArrayList<>();
    command.add(Cli.root().resolve("build/bin/tapline-multilog").toString());
    command.addAll(List.of("--node", name, "--listen", address, "--memory-mib", "64"));
    command.addAll(List.of("--writers", "1", "--pcap", packets.path().toString()));
    command.addAll(List.of("--metrics", "127.0.0.1:" + metrics));
    return new Node(Cli.startCommand(Map.of(), command), packets, address, metrics);
  }

  @AfterEach
  void stop() throws Exception {
    for (Node node : nodes) {
      node.running().close();
      node.packets().close();
    }
    if (server != null) {
      signal("CONT", server.process());
      server.close();
    }
  }

  private static void signal(String name, Process process) throws Exception {
    new ProcessBuilder("kill", "-" + name, Long.toString(process.pid())).start().waitFor();
  }

  private static void await(String awaited, Callable<Boolean> condition) throws Exception {
    long end = System.nanoTime() + SECONDS * 1_000_000_000L;
    while (!condition.call()) {
      assertThat(System.nanoTime()).as(awaited).isLessThan(end);
      Thread.sleep(10);
    }
  }

  /**
   * Sends packets to a node; returns once the node has written all of them, even if they are not
   * visible yet.
   */
  private void feed(Node node) throws Exception {
    long previousMetric = metric(node, "rows_total");
    node.packets().feed(SOME);
    await("ingest", () -> metric(node, "rows_total") == previousMetric + SOME);
  }

  /** Returns a node's metric; 0 while the node does not answer. */
  private long metric(Node node, String name) throws Exception {
    URI uri = URI.create("http://127.0.0.1:" + node.metrics() + "/metrics");
    String text;
    try {
      text = http.send(HttpRequest.newBuilder(uri).build(), BodyHandlers.ofString()).body();
    } catch (java.net.ConnectException notYet) {
      return 0;
    }
    return text.lines()
        .filter(line -> line.startsWith("tapline_multilog_" + name + " "))
        .mapToLong(line -> (long) Double.parseDouble(line.substring(line.indexOf(' '))))
        .findFirst()
        .orElseThrow();
  }

  private boolean areFrozen() throws Exception {
    return metric(nodes.get(0), "frozen") == 1 && metric(nodes.get(1), "frozen") == 1;
  }

  private boolean areFree() throws Exception {
    return metric(nodes.get(0), "frozen") == 0 && metric(nodes.get(1), "frozen") == 0;
  }

  private CompletableFuture<HttpResponse<String>> drill() {
    return http.sendAsync(
        HttpRequest.newBuilder(URI.create(server.url() + "/api/v1/drilldown"))
            .header("Content-Type", "application/json")
            .POST(HttpRequest.BodyPublishers.ofString("{\"aggregate\":\"COUNT\"}"))
            .build(),
        BodyHandlers.ofString());
  }

  /** Returns the number of headers that a COUNT response reports. */
  private static long count(HttpResponse<String> response) {
    JsonNode groups = Cli.parse(response.body()).path("groups");
    return groups.isEmpty() ? 0 : groups.get(0).path("value").asLong();
  }

  /**
   * Sends a request, and suspends the server once it has frozen two nodes; returns the pending
   * response. Tries again if the server unfroze them before it was suspended.
   */
  private CompletableFuture<HttpResponse<String>> stopWhereNodesAreFrozen() throws Exception {
    long end = System.nanoTime() + SECONDS * 1_000_000_000L;
    while (System.nanoTime() < end) {
      CompletableFuture<HttpResponse<String>> pendingResponse = drill();
      while (!areFrozen() && !pendingResponse.isDone()) {
        Thread.sleep(5);
      }
      signal("STOP", server.process());
      Thread.sleep(ON_ITS_WAY_MS);
      if (!pendingResponse.isDone() && areFrozen()) {
        return pendingResponse;
      }
      signal("CONT", server.process());
      pendingResponse.get();
    }
    throw new AssertionError("the server was never stopped with frozen nodes");
  }

  @Test
  void nodesContinueWhenTheServerDiesOrStalls() throws Exception {
    signal("STOP", still.running().process());

    // The server is suspended for longer than a freeze may last, so the nodes end the freeze
    // themselves.
    CompletableFuture<HttpResponse<String>> pendingResponse = stopWhereNodesAreFrozen();
    feed(nodes.get(0));
    await("the freezes expire", this::areFree);
    feed(nodes.get(1));
    signal("CONT", server.process());
    // The frozen state is no longer a snapshot, so the response is based on a new one.
    HttpResponse<String> answer = pendingResponse.get();
    assertThat(count(answer)).as(answer.body()).isEqualTo(4 * SOME);
    assertThat(Cli.parse(answer.body()).path("missing").has("still")).isTrue();

    // The server is killed.
    stopWhereNodesAreFrozen();
    feed(nodes.get(0));
    server.process().destroyForcibly().waitFor();
    feed(nodes.get(1));
    await("the freezes expire", this::areFree);
    signal("CONT", still.running().process());
    server.close();
    server = Server.start(arguments());
    await("all nodes have all packets", () -> count(drill().get()) == 7 * SOME);
  }
}
