package io.tapline.e2e;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * Tests the start of {@code tapline run}: its phases, and a service that fails while others start.
 */
class RunStartTest {
  private static final String QUERY =
      "PARSE http_get FROM * TO *:80 LIMIT 90s SAMPLE * PROCESS (top-k: k=3, w=10s)";
  private static final String CAPTURE =
      Cli.root().resolve("testbed/captures/http_small.pcap.zst").toString();

  @TempDir Path temporary;

  @Test
  void timingsShowEachPhaseAndChangeNoResult() {
    Cli.Result plainResult = Cli.run("run", QUERY, "--pcap", CAPTURE).expectSuccess();
    Cli.Result timed = Cli.run("run", QUERY, "--pcap", CAPTURE, "--timings").expectSuccess();
    assertThat(timed.stdout()).isEqualTo(plainResult.stdout());
    assertThat(plainResult.stderr()).doesNotContain("phase");
    String table = timed.stderr().substring(timed.stderr().indexOf("phase"));
    assertThat(table.lines().map(line -> line.split("  +")[0]))
        .containsExactlyInAnyOrder(
            "phase",
            "Java and the command line",
            "check the query",
            "start Kafka",
            "start Flink",
            "start Redis",
            "connect to the services",
            "prepare the job",
            "create the topic",
            "start the monitor",
            "read the capture",
            "submit the job",
            "run the job",
            "remove the topic",
            "shut everything down",
            "all");
  }

  @Test
  void showsPhasesOfAFailedRun() {
    Cli.Result result = Cli.run("run", "PARSE nothing", "--pcap", CAPTURE, "--timings");
    assertThat(result.exitCode()).isEqualTo(2);
    assertThat(result.stderr()).contains("check the query").doesNotContain("start Kafka");
  }

  @Test
  void aRedisThatDoesNotStartIsNamedAndTheOthersAreStopped() throws Exception {
    Path programs = Files.createDirectory(temporary.resolve("programs"));
    Files.writeString(programs.resolve("redis-server"), "#!/bin/sh\necho out of luck\nexit 3\n");
    Files.setPosixFilePermissions(
        programs.resolve("redis-server"), PosixFilePermissions.fromString("rwx------"));
    assertFails(
        Map.of("PATH", programs + ":" + System.getenv("PATH")),
        "can't start redis-server: out of luck",
        "run",
        QUERY,
        "--pcap",
        CAPTURE);
  }

  private void assertFails(Map<String, String> environment, String message, String... arguments)
      throws Exception {
    Path files = Files.createDirectory(temporary.resolve("files"));
    Map<String, String> all = new java.util.HashMap<>(environment);
    all.put("TMPDIR", files.toString());
    try (Cli.Running running = Cli.start(all, arguments)) {
      Cli.Result result = running.await(60);
      assertThat(result.exitCode()).as(result.stderr()).isEqualTo(1);
      assertThat(result.stderr()).contains(message);
      assertThat(running.process().descendants()).isEmpty();
      assertThat(left(files, running.process().pid())).isEmpty();
    }
  }

  /** Returns the folders that a process left behind when it ended. */
  private static List<Path> left(Path files, long process) throws Exception {
    try (Stream<Path> onDisk = Files.list(files);
        Stream<Path> inMemory = Files.list(Path.of("/dev/shm"))) {
      return Stream.concat(
              onDisk,
              inMemory.filter(
                  file -> file.getFileName().toString().startsWith("tapline-" + process + "-")))
          .toList();
    }
  }
}
