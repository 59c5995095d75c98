package io.tapline.e2e;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.stream.Stream;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/**
 * Tests that SIGKILL at any moment leaves no process behind, and nothing that prevents the next
 * start.
 */
class KilledTest {
  private static final long CHILD_EXIT_SECONDS = 10;
  private static final String QUERY =
      "PARSE http_get FROM * TO *:80 LIMIT 90s SAMPLE * PROCESS (top-k: k=3, w=10s)";

  @TempDir Path temporary;

  @ParameterizedTest(name = "{0}, seed {1}")
  @CsvSource({"run,1", "run,2", "run,3", "demo,4", "demo,5", "server,6", "server,7"})
  void leavesNothingThatPreventsARestart(String command, long seed) throws Exception {
    Map<String, String> environment = Map.of("TMPDIR", temporary.toString());
    int port = Server.freePort();
    killAtARandomMoment(environment, arguments(command, port), seed);

    if (command.equals("server")) {
      try (Server server = Server.startAt(port)) {
        assertThat(server.get("/healthz").statusCode()).isEqualTo(200);
      }
    }
    Cli.run(environment, arguments("run", port)).expectSuccess();
    try (Stream<Path> left = Files.list(temporary)) {
      assertThat(left.filter(p -> p.getFileName().toString().startsWith("tapline"))).isEmpty();
    }
  }

  private static String[] arguments(String command, int port) {
    return switch (command) {
      case "run" -> new String[] {"run", QUERY, "--pcap", smallCapture(), "--json"};
      case "server" ->
          new String[] {"server", "--port", Integer.toString(port), "--pcap", smallCapture()};
      default -> new String[] {command};
    };
  }

  private static String smallCapture() {
    return Cli.root().resolve("testbed/captures/http_small.pcap.zst").toString();
  }

  private static void killAtARandomMoment(
      Map<String, String> environment, String[] arguments, long seed) throws InterruptedException {
    try (Cli.Running running = Cli.start(environment, arguments)) {
      Thread.sleep(new Random(seed).nextInt(200, 4000));
      List<ProcessHandle> children = running.process().descendants().toList();
      running.process().destroyForcibly().waitFor();
      awaitEnd(children);
    }
  }

  private static void awaitEnd(List<ProcessHandle> processes) throws InterruptedException {
    long deadline = System.nanoTime() + CHILD_EXIT_SECONDS * 1_000_000_000L;
    while (processes.stream().anyMatch(KilledTest::runs) && System.nanoTime() < deadline) {
      Thread.sleep(50);
    }
    assertThat(processes.stream().filter(KilledTest::runs)).as("processes left behind").isEmpty();
  }

  /** Returns true if the process is running. Ignores unreaped zombies, which hold no resources. */
  private static boolean runs(ProcessHandle process) {
    try {
      String status = Files.readString(Path.of("/proc", Long.toString(process.pid()), "stat"));
      return process.isAlive() && !status.substring(status.lastIndexOf(')') + 2).startsWith("Z");
    } catch (IOException e) {
      return false;
    }
  }
}
