package io.tapline.e2e;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/**
 * Tests commands that are stopped or lose a child process. They must end soon, print their messages
 * and leave nothing behind.
 */
class StoppedTest {
  private static final long START_SECONDS = 90;
  private static final String QUERY =
      "PARSE http_get FROM * TO *:80 LIMIT 90s SAMPLE * PROCESS (top-k: k=3, w=2s, s=2s)";

  @TempDir Path temporary;

  /**
   * Starts a run that takes most of a minute. It handles SIGINT even if this process ignores
   * SIGINT, as a script's background jobs do.
   */
  private Cli.Running startRun() {
    Path capture = Cli.root().resolve("testbed/three_tier/three_tier.pcap.zst");
    List<String> command = new ArrayList<>(List.of("env", "--default-signal=INT"));
    command.addAll(Cli.tapline("run", QUERY, "--pcap", capture.toString(), "--speed", "1x"));
    return Cli.startCommand(Map.of("TMPDIR", temporary.toString()), command);
  }

  private static void awaitPackets(Cli.Running running) throws Exception {
    long deadline = System.nanoTime() + START_SECONDS * 1_000_000_000L;
    while (!running.stderr().contains("reading packets")) {
      assertThat(System.nanoTime())
          .as("waiting for packets; stderr: %s", running.stderr())
          .isLessThan(deadline);
      assertThat(running.process().isAlive()).as(running.stderr()).isTrue();
      Thread.sleep(50);
    }
  }

  /**
   * Waits until the monitor is started. By then, the query's job has been submitted, but few of its
   * tasks are running.
   */
  private static void awaitMonitor(Cli.Running running) throws Exception {
    long deadline = System.nanoTime() + START_SECONDS * 1_000_000_000L;
    while (running
        .process()
        .descendants()
        .noneMatch(descendant -> commandLine(descendant).contains("--plan"))) {
      assertThat(System.nanoTime())
          .as("waiting for the monitor; stderr: %s", running.stderr())
          .isLessThan(deadline);
      assertThat(running.process().isAlive()).as(running.stderr()).isTrue();
      Thread.sleep(5);
    }
  }

  private static void signal(ProcessHandle process, String name) throws Exception {
    new ProcessBuilder("kill", "-" + name, Long.toString(process.pid())).start().waitFor();
  }

  private void assertNothingLeft(List<ProcessHandle> children) throws Exception {
    assertThat(children.stream().filter(ProcessHandle::isAlive)).isEmpty();
    try (Stream<Path> left = Files.list(temporary)) {
      assertThat(left).isEmpty();
    }
  }

  @ParameterizedTest
  @CsvSource({"TERM,143", "INT,130"})
  void aSignalEndsARunCleanly(String name, int exitCode) throws Exception {
    try (Cli.Running running = startRun()) {
      awaitPackets(running);
      List<ProcessHandle> children = running.process().descendants().toList();
      assertThat(children).hasSize(2);
      signal(running.process().toHandle(), name);
      Cli.Result result = running.await(30);
      assertThat(result.exitCode()).isEqualTo(exitCode);
      assertThat(result.stderr()).doesNotContain("\tat ").doesNotContain("tapline: ");
      assertNothingLeft(children);
    }
  }

  @Test
  void aSignalBeforeTheJobsTasksRunEndsARunCleanly() throws Exception {
    try (Cli.Running running = startRun()) {
      awaitMonitor(running);
      List<ProcessHandle> children = running.process().descendants().toList();
      signal(running.process().toHandle(), "TERM");
      Cli.Result result = running.await(30);
      assertThat(result.exitCode()).isEqualTo(143);
      assertThat(result.stderr()).doesNotContain("\tat ").doesNotContain("tapline: ");
      assertNothingLeft(children);
    }
  }

  @ParameterizedTest
  @CsvSource({
    "--plan,the monitor was killed by signal 9",
    "redis-server,redis-server ended unexpectedly"
  })
  void aChildThatIsKilledEndsTheRunWithTheReason(String child, String reason) throws Exception {
    try (Cli.Running running = startRun()) {
      awaitPackets(running);
      List<ProcessHandle> children = running.process().descendants().toList();
      List<ProcessHandle> victims =
          children.stream().filter(process -> commandLine(process).contains(child)).toList();
      assertThat(victims).hasSize(1);
      signal(victims.get(0), "KILL");
      Cli.Result result = running.await(60);
      assertThat(result.exitCode()).isEqualTo(1);
      assertThat(result.stderr()).contains("tapline: " + reason).doesNotContain("\tat ");
      assertNothingLeft(children);
    }
  }

  private static String commandLine(ProcessHandle process) {
    try {
      return Files.readString(Path.of("/proc", Long.toString(process.pid()), "cmdline"));
    } catch (java.io.IOException e) {
      return "";
    }
  }

  @Test
  void exitsWithZeroOnRequest() throws Exception {
    Server server =
        Server.start(
            "--pcap", Cli.root().resolve("testbed/three_tier/three_tier.pcap.zst").toString());
    server.submit(QUERY);
    List<ProcessHandle> children = server.process().descendants().toList();
    server.close();
    assertThat(server.process().exitValue()).isZero();
    assertThat(children.stream().filter(ProcessHandle::isAlive)).isEmpty();
  }
}
