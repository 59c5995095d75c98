package io.tapline.e2e;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Runs the tutorial "From a ranking to its packets", in the order of its blocks. */
class DrillTest {
  private static final Path TUTORIAL =
      Cli.root().resolve("docs/tutorials/from-a-ranking-to-packets.md");

  /** A program that goes on, or a session: its command, and what it prints. */
  private static final Pattern BLOCK =
      Pattern.compile(
          "<!-- (start|run)[^>]* -->\n```console\n\\$ ([^\n]*)\n(.*?)```", Pattern.DOTALL);

  private static final long SECONDS = 120;

  @TempDir Path folder;
  private final List<Cli.Running> started = new ArrayList<>();

  @AfterEach
  void stop() {
    started.forEach(Cli.Running::close);
  }

  @Test
  void theTutorialsCommandsPrintWhatItShows() throws Exception {
    Map<String, String> places = new LinkedHashMap<>();
    for (String port : List.of("7401", "7402", "8480")) {
      places.put(port, Integer.toString(Server.freePort()));
    }
    for (String file : List.of("flow.pcapng", "both.pcapng")) {
      places.put(file, folder.resolve(file).toString());
    }
    Map<String, String> environment =
        Map.of("TAPLINE_SERVER", "http://127.0.0.1:" + places.get("8480"));
    Matcher block = BLOCK.matcher(Files.readString(TUTORIAL));
    int sessions = 0;
    while (block.find()) {
      String command = block.group(2);
      for (Map.Entry<String, String> place : places.entrySet()) {
        command = command.replace(place.getKey(), place.getValue());
      }
      if (block.group(1).equals("start")) {
        started.add(shell(environment, "exec " + command));
        continue;
      }
      if (sessions++ == 0) {
        awaitNodes(environment);
      }
      try (Cli.Running running = shell(environment, command)) {
        assertThat(running.await(SECONDS).expectSuccess().stdout())
            .as(command)
            .isEqualTo(block.group(3));
      }
    }
    assertThat(started).hasSize(3);
    assertThat(sessions).isEqualTo(5);
  }

  private static Cli.Running shell(Map<String, String> environment, String command) {
    return Cli.startCommand(
        environment,
        List.of("bash", "-o", "pipefail", "-c", "cd " + Cli.root() + " && " + command));
  }

  /** Until the server answers, and both nodes have taken the whole capture. */
  private void awaitNodes(Map<String, String> environment) throws Exception {
    long end = System.nanoTime() + SECONDS * 1_000_000_000L;
    while (System.nanoTime() < end) {
      started.forEach(each -> assertThat(each.process().isAlive()).as(each::stderr).isTrue());
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
