package io.tapline.e2e;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Tests that wrong input causes one clear message on standard error, nothing on standard output,
 * and exit code 2 for wrong usage, or 1 otherwise.
 */
class WrongInputTest {
  private static final String QUERY =
      "PARSE http_get FROM * TO *:80 LIMIT 90s SAMPLE * PROCESS (top-k: k=3, w=10s)";
  private static final int FAILED = 1;
  private static final int USAGE = 2;
  private static final String STACK_TRACE = "\tat ";

  @TempDir Path folder;

  private static Path capture() {
    return Cli.root().resolve("testbed/captures/http_small.pcap.zst");
  }

  private static Cli.Result expectError(Cli.Result result, int exitCode, String... parts) {
    assertThat(result.exitCode()).as("exit code; stderr: %s", result.stderr()).isEqualTo(exitCode);
    assertThat(result.stderr())
        .contains(parts)
        .doesNotContain(STACK_TRACE)
        .doesNotContain("Exception");
    assertThat(result.stdout()).isEmpty();
    return result;
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "PARSE htp_get FROM * TO *:80 LIMIT 90s SAMPLE * PROCESS (top-k: k=3)      | query:1:7:  | did you mean http_get",
        "PARSE http_get FROM * TO *:80 LIMIT 90s SAMPLE * PROCESS (topk: k=3)      | query:1:59: | top-k",
        "PARSE http_get FROM * TO *:80 LIMIT 90s SAMPLE * PROCESS (top-k: n=3)     | query:1:66: | expected",
        "PARSE http_get FROM * TO *:80 LIMIT 90s SAMPLE * PROCESS (top-k: k=0)     | query:1:68: | expected",
        "PARSE http_get FROM * TO *:80 LIMIT 90s SAMPLE * PROCESS (group-sum: group=colour) | query:1:76: | colour",
        "PARSE http_get FROM * TO nohost:80 LIMIT 90s SAMPLE * PROCESS (top-k: k=3) | query:1:26: | nohost",
        "PARSE http_get FROM * TO *:99999 LIMIT 90s SAMPLE * PROCESS (top-k: k=3)  | query:1:28: | 65535",
        "PARSE http_get FROM * TO *:80 LIMIT 90s SAMPLE 2 PROCESS (top-k: k=3)     | query:1:48: | 1",
        "PARSE http_get FROM * TO *:80 LIMIT 90s SAMPLE * PROCESS (top-k: k=3      | query:1:    | expected",
        "PARSE http_get LIMIT 90s SAMPLE * PROCESS (top-k: k=3)                    | query:1:    | FROM"
      })
  void anInvalidQueryIsShownWithThePositionOfItsError(String query, String place, String hint) {
    for (List<String> command :
        List.of(List.of("run", query, "--pcap", capture().toString()), List.of("explain", query))) {
      Cli.Result result = Cli.run(command.toArray(String[]::new));
      expectError(result, USAGE, place, hint, "^");
    }
  }

  @Test
  void unknownNamesOnTheCommandLine() {
    expectError(
        Cli.run("parse", "--parser", "htp_get", "--pcap", capture().toString()),
        USAGE,
        "htp_get",
        "http_get");
    expectError(Cli.run("parsers", "htp_get"), USAGE, "htp_get", "http_get");
    expectError(Cli.run("processors", "topk"), USAGE, "topk", "top-k");
    expectError(Cli.run("rum"), USAGE, "rum", "--help");
    expectError(Cli.run("run", QUERY), USAGE, "--pcap");
    expectError(
        Cli.run("run", QUERY, "--pcap", capture().toString(), "--speed", "2x"), USAGE, "2x", "1x");
  }

  @Test
  void nodesOfOtherHostsWithoutTls() {
    expectError(
        Cli.run("server", "--multilog", "h1=10.0.0.1:7400"), USAGE, "10.0.0.1", "--multilog-ca");
    expectError(
        Cli.run("server", "--multilog-token-file", capture().toString()), USAGE, "--multilog-ca");
    expectError(
        Cli.run("server", "--multilog-ca", capture().toString()), USAGE, capture().toString());
  }

  @Test
  void unencryptedConnectionsToOtherHosts() {
    expectError(
        Cli.run("server", "--agents", "0.0.0.0:8481", "--brokers", "127.0.0.1:1"),
        USAGE,
        "--agents 0.0.0.0:8481",
        "--agents-token-file",
        "--clear agents");
    expectError(
        Cli.run("server", "--redis", "10.0.0.1:6379", "--clear", "kafka"),
        USAGE,
        "--redis 10.0.0.1:6379",
        "--tls redis",
        "--clear redis");
    expectError(
        Cli.run("run", QUERY, "--pcap", capture().toString(), "--brokers", "10.0.0.1:9092"),
        USAGE,
        "--brokers 10.0.0.1:9092",
        "--tls kafka",
        "--clear kafka");
    expectError(
        Cli.run("controller", "--openflow-address", "0.0.0.0"),
        USAGE,
        "--openflow-address 0.0.0.0",
        "--tls openflow",
        "--clear openflow");
    expectError(
        Cli.run("controller", "--tls", "kafka"), USAGE, "--tls kafka", "does not use that service");
  }

  @Test
  void rolesRequireTls() {
    String some = capture().toString();
    expectError(
        Cli.run("server", "--agents", "127.0.0.1:0", "--agents-client-ca", some),
        USAGE,
        "--agents-client-ca needs --agents-tls-certificate and --agents-tls-key");
    expectError(
        Cli.run("server", "--multilog-certificate", some),
        USAGE,
        "--multilog-certificate and --multilog-key require each other and --multilog-ca");
    expectError(
        Cli.run("server", "--zookeeper-creator", "CN=flink"),
        USAGE,
        "--zookeeper-creator requires --tls zookeeper");
    for (String command : List.of("server", "controller")) {
      expectError(
          Cli.run(command, "--openflow-any-datapath"),
          USAGE,
          "--openflow-any-datapath require --tls openflow");
    }
  }

  private Path file(String name, byte[] content) throws IOException {
    return Files.write(folder.resolve(name), content);
  }

  private Path decompressed() throws Exception {
    Path plain = folder.resolve("plain.pcap");
    Process zstd =
        new ProcessBuilder("zstd", "-q", "-d", capture().toString(), "-o", plain.toString())
            .start();
    assertThat(zstd.waitFor()).isZero();
    return plain;
  }

  private static void expectCaptureError(Path file, String... parts) {
    expectError(Cli.run("parse", "--parser", "http_get", "--pcap", file.toString()), FAILED, parts);
    expectRefusal(Cli.run("run", QUERY, "--pcap", file.toString(), "--json"), parts);
  }

  /** Expects an error before any service is started: a single line on standard error. */
  private static void expectRefusal(Cli.Result result, String... parts) {
    expectError(result, FAILED, parts);
    assertThat(result.stderr().lines()).as(result.stderr()).hasSize(1);
  }

  @Test
  void missingCapture() {
    expectCaptureError(folder.resolve("not-there.pcap"), "not-there.pcap", "no such file");
  }

  @Test
  void emptyCapture() throws Exception {
    expectCaptureError(file("empty.pcap", new byte[0]), "empty.pcap", "empty");
  }

  @Test
  void directoryInsteadOfACapture() throws Exception {
    expectCaptureError(Files.createDirectory(folder.resolve("captures")), "captures", "directory");
  }

  @Test
  void fileThatIsNotACapture() throws Exception {
    expectCaptureError(
        file("story.pcap", "Once upon a time there was a packet.\n".getBytes()), "story.pcap");
  }

  @Test
  void unsupportedLinkType() throws Exception {
    byte[] capture = Files.readAllBytes(decompressed());
    int linkTypeOffset = 20;
    capture[linkTypeOffset] = (byte) 147; // LINKTYPE_USER0
    expectCaptureError(file("user0.pcap", capture), "user0.pcap", "147");
  }

  /**
   * Tests that an incomplete capture is reported, and that both commands end with the same exit
   * code.
   */
  @Test
  void truncatedCapture() throws Exception {
    byte[] capture = Files.readAllBytes(decompressed());
    byte[] half = java.util.Arrays.copyOf(capture, capture.length / 2 + 3);
    Path file = file("half.pcap", half);
    Cli.Result parsed =
        Cli.run("parse", "--parser", "http_get", "--pcap", file.toString(), "--json");
    assertThat(parsed.stderr())
        .contains("half.pcap")
        .containsAnyOf("truncated", "cut", "ends")
        .doesNotContain(STACK_TRACE);
    Cli.Result run = Cli.run("run", QUERY, "--pcap", file.toString(), "--json");
    assertThat(run.stderr()).contains("half.pcap").doesNotContain(STACK_TRACE);
    assertThat(run.exitCode()).as("same exit code as parse").isEqualTo(parsed.exitCode());
  }

  @Test
  void missingInterface() {
    expectError(
        Cli.run("server", "--interface", "nosuch0", "--port", "0"), FAILED, "nosuch0", "lo");
  }

  @Test
  void captureAndInterfaceAtOnce() {
    expectError(
        Cli.run("server", "--interface", "lo", "--pcap", capture().toString()),
        USAGE,
        "--interface",
        "--pcap");
  }

  @Test
  void portInUse() throws Exception {
    try (Server server = Server.start("--pcap", capture().toString())) {
      String port = server.url().substring(server.url().lastIndexOf(':') + 1);
      expectError(Cli.run("server", "--port", port), FAILED, port, "--port");
    }
  }

  @Test
  void unreachableServer() throws Exception {
    String url = "http://127.0.0.1:1";
    expectError(Cli.run("query", "list", "--server", url), FAILED, url, "tapline server");
    expectError(Cli.run("query", "list", "--server", "nonsense"), USAGE, "nonsense", "http://");
  }

  @Test
  void unreachableBroker() throws Exception {
    String brokers = "127.0.0.1:1";
    expectRefusal(
        Cli.run("run", QUERY, "--pcap", capture().toString(), "--brokers", brokers),
        "Kafka broker " + brokers + ": connection refused; is it running, and is the port right?");
    expectRefusal(
        Cli.run("run", QUERY, "--pcap", capture().toString(), "--redis", brokers),
        "Redis " + brokers + ": connection refused; is it running, and is the port right?");
  }

  @Test
  void invalidJavaOptions() {
    for (String options : List.of("-Xmx4x", "-XX:+Nosuch", "Xmx4g")) {
      Cli.Result result = Cli.run(Map.of("TAPLINE_JAVA_OPTS", options), "parsers");
      expectError(result, USAGE, "tapline: TAPLINE_JAVA_OPTS: ");
      assertThat(result.stderr().lines()).as(result.stderr()).hasSize(1);
    }
  }

  @Test
  void invalidInventory() throws Exception {
    Path wrong = file("hosts.yaml", "hosts: [not, a, map]\n".getBytes());
    expectError(Cli.run("explain", QUERY, "--inventory", wrong.toString()), FAILED, "hosts.yaml");
    expectError(
        Cli.run("explain", QUERY, "--inventory", folder.resolve("none.yaml").toString()),
        FAILED,
        "none.yaml");
  }

  @ParameterizedTest
  @ValueSource(strings = {"parsers", "fmt", "parse", "run"})
  void fullDiskForTheOutput(String command) throws Exception {
    List<String> line =
        switch (command) {
          case "fmt" -> Cli.tapline("fmt", QUERY);
          case "parse" ->
              Cli.tapline(
                  "parse", "--parser", "http_get", "--pcap", capture().toString(), "--json");
          case "run" -> Cli.tapline("run", QUERY, "--pcap", capture().toString(), "--json");
          default -> Cli.tapline("parsers");
        };
    List<String> shell = new ArrayList<>(List.of("sh", "-c", "exec \"$@\" > /dev/full", "sh"));
    shell.addAll(line);
    try (Cli.Running running = Cli.startCommand(Map.of(), shell)) {
      Cli.Result result = running.await(180);
      expectError(result, FAILED, "standard output", "No space left");
      assertThat(result.stderr()).as("reported once").containsOnlyOnce("No space left");
    }
  }

  @Test
  void readerThatClosesThePipe() {
    List<String> shell = new ArrayList<>(List.of("sh", "-c", "\"$@\" | head -1", "sh"));
    shell.addAll(
        Cli.tapline("parse", "--parser", "http_get", "--pcap", capture().toString(), "--json"));
    try (Cli.Running running = Cli.startCommand(Map.of(), shell)) {
      Cli.Result result = running.await(180);
      assertThat(result.stdout().lines()).hasSize(1);
      assertThat(result.stderr()).doesNotContain(STACK_TRACE).doesNotContain("tapline:");
    }
  }

  @Test
  void diskForTemporaryFilesTooSmall() throws Exception {
    withTemporaryDisk(
        "8m",
        disk -> {
          Cli.Result result =
              Cli.run(
                  Map.of("TMPDIR", disk.toString()), "run", QUERY, "--pcap", capture().toString());
          expectError(result, FAILED, disk.toString(), "TMPDIR", "MiB");
          assertNothingLeft(disk);
        });
  }

  /** Tests a disk that has room when the query starts, and fills up while it runs. */
  @Test
  void diskThatFillsUp() throws Exception {
    withTemporaryDisk(
        "48m",
        disk -> {
          Path big = Cli.root().resolve("testbed/three_tier/three_tier.pcap.zst");
          try (Cli.Running running =
              Cli.start(
                  Map.of("TMPDIR", disk.toString()),
                  "run",
                  QUERY,
                  "--pcap",
                  big.toString(),
                  "--speed",
                  "1x")) {
            fill(disk, running);
            Cli.Result result = running.await(120);
            assertThat(result.exitCode()).as(result.stderr()).isEqualTo(FAILED);
            assertThat(result.stderr()).contains("tapline: ").doesNotContain(STACK_TRACE);
          }
          Files.delete(disk.resolve("filler"));
          assertNothingLeft(disk);
        });
  }

  private static void fill(Path disk, Cli.Running running) throws Exception {
    long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(60);
    while (!running.stderr().contains("reading packets") && running.process().isAlive()) {
      assertThat(System.nanoTime())
          .as("waiting for packets; stderr: %s", running.stderr())
          .isLessThan(deadline);
      Thread.sleep(50);
    }
    Process dd =
        new ProcessBuilder("dd", "if=/dev/zero", "of=" + disk.resolve("filler"), "bs=64k")
            .redirectErrorStream(true)
            .start();
    String output = new String(dd.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
    assertThat(output).as("stderr: %s", running.stderr()).contains("No space left on device");
    assertThat(disk.resolve("filler")).as(output).exists();
  }

  private interface DiskTest {
    void run(Path disk) throws Exception;
  }

  private void withTemporaryDisk(String size, DiskTest test) throws Exception {
    Path disk = Files.createDirectory(folder.resolve("disk"));
    int mounted =
        new ProcessBuilder("mount", "-t", "tmpfs", "-o", "size=" + size, "tmpfs", disk.toString())
            .start()
            .waitFor();
    assumeTrue(mounted == 0, "SKIPPED: mounting a small disk needs root");
    try {
      test.run(disk);
    } finally {
      new ProcessBuilder("umount", "-l", disk.toString()).start().waitFor();
    }
  }

  private static void assertNothingLeft(Path disk) throws IOException {
    try (Stream<Path> left = Files.list(disk)) {
      assertThat(left).isEmpty();
    }
  }

  @Test
  void noPermission() throws Exception {
    assumeTrue(
        System.getProperty("user.name").equals("root"), "SKIPPED: changing the user needs root");
    Path secret =
        Files.copy(
            capture(), folder.resolve("secret.pcap.zst"), StandardCopyOption.REPLACE_EXISTING);
    Files.setPosixFilePermissions(secret, java.util.Set.of());
    Files.setPosixFilePermissions(
        folder, java.nio.file.attribute.PosixFilePermissions.fromString("rwxr-xr-x"));
    expectError(
        asUnprivilegedUser("parse", "--parser", "http_get", "--pcap", secret.toString()),
        FAILED,
        "secret.pcap.zst",
        "permission");
    expectError(
        asUnprivilegedUser("run", QUERY, "--pcap", capture().toString()),
        FAILED,
        "permission",
        "TMPDIR",
        "/proc");
  }

  /** Runs a command as an unprivileged user with a temporary folder that can't be written to. */
  private static Cli.Result asUnprivilegedUser(String... arguments) {
    List<String> command =
        new ArrayList<>(List.of("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"));
    command.addAll(Cli.tapline(arguments));
    try (Cli.Running running = Cli.startCommand(Map.of("TMPDIR", "/proc"), command)) {
      return running.await(180);
    }
  }

  @Test
  void programsThatAreNotBuilt() throws Exception {
    Path bin = Files.createDirectories(folder.resolve("clone/bin"));
    Files.copy(
        Cli.root().resolve("bin/tapline"),
        bin.resolve("tapline"),
        StandardCopyOption.COPY_ATTRIBUTES);
    String program = bin.resolve("tapline").toString();
    try (Cli.Running running = Cli.startCommand(Map.of(), List.of(program, "demo"))) {
      expectError(running.await(180), FAILED, "make build");
    }
    Files.createDirectories(folder.resolve("clone/build/java"));
    Files.createSymbolicLink(
        folder.resolve("clone/build/java/lib"), Cli.root().resolve("build/java/lib").toRealPath());
    for (List<String> arguments :
        List.of(List.of("parsers"), List.of("run", QUERY, "--pcap", capture().toString()))) {
      List<String> command = new ArrayList<>(List.of(program));
      command.addAll(arguments);
      try (Cli.Running running = Cli.startCommand(Map.of(), command)) {
        expectError(running.await(180), FAILED, "make build", "native");
      }
    }
  }
}
