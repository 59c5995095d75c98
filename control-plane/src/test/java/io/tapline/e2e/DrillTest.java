package io.tapline.e2e;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Runs the tutorial "From a ranking to its packets", in the order of its blocks. */
class DrillTest {
  private static final long SECONDS = 120;

  @TempDir Path folder;

  @Test
  void theTutorialsCommandsPrintItsOutput() throws Exception {
    Map<String, String> places = new LinkedHashMap<>();
    for (String port : List.of("7401", "7402", "8480")) {
      places.put(port, Integer.toString(Server.freePort()));
    }
    for (String file : List.of("flow.pcapng", "both.pcapng")) {
      places.put(file, folder.resolve(file).toString());
    }
    Map<String, String> environment =
        Map.of("TAPLINE_SERVER", "http://127.0.0.1:" + places.get("8480"));
    try (Tutorial tutorial = new Tutorial("from-a-ranking-to-packets.md", places, environment)) {
      tutorial.run(started -> awaitNodes(environment, started));
      assertThat(tutorial.programs()).isEqualTo(3);
      assertThat(tutorial.sessions()).isEqualTo(5);
    }
  }

  /** Waits until the server answers and both nodes have stored all packets that they have read. */
  private static void awaitNodes(Map<String, String> environment, List<Cli.Running> started)
      throws Exception {
    long end = System.nanoTime() + SECONDS * 1_000_000_000L;
    while (System.nanoTime() < end) {
      started.forEach(
          running -> assertThat(running.process().isAlive()).as(running::stderr).isTrue());
      Cli.Result nodes = Cli.run(environment, "nodes", "--json");
      if (nodes.exitCode() == 0 && nodes.json().stream().allMatch(DrillTest::isSettled)) {
        assertThat(nodes.json()).hasSize(2);
        return;
      }
      Thread.sleep(200);
    }
    throw new AssertionError("the nodes did not come up in time");
  }

  private static boolean isSettled(JsonNode node) {
    long dropped = 0;
    for (JsonNode count : node.path("dropped")) {
      dropped += count.asLong();
    }
    long packets = node.path("packets").asLong();
    return packets > 0 && packets == node.path("rows").asLong() + dropped;
  }
}
