package io.tapline.e2e;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import com.fasterxml.jackson.databind.JsonNode;
import java.io.File;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.stream.Stream;
import org.apache.kafka.clients.admin.Admin;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.parallel.Isolated;
import org.slf4j.Logger;

/**
 * Runs a program as another, unprivileged user of the host (with setpriv) next to Tapline's
 * programs. That user must not be able to read or write Tapline's files, or use its ports. Requires
 * root, since only root can act as another user.
 */
@Isolated("it searches for new files in folders of the whole host")
class SecondUserTest {
  private static final long SECONDS = 90;
  private static final String OTHER_USER_ID = "65534";
  private static final String CAPTURE = "testbed/three_tier/three_tier.pcap.zst";
  private static final String QUERY =
      "PARSE http_get FROM * TO *:80 LIMIT 90s SAMPLE * PROCESS (top-k: k=3, w=2s, s=2s)";

  /** Forwards connections from one port of loopback to another: python3 -c RELAY FROM TO. */
  private static final String RELAY =
      """
      import socket, sys, threading
      def pump(source, sink):
          while data := source.recv(65536):
              sink.sendall(data)
          sink.shutdown(socket.SHUT_WR)
      with socket.create_server(("127.0.0.1", int(sys.argv[1]))) as server:
          while True:
              one, _ = server.accept()
              other = socket.create_connection(("127.0.0.1", int(sys.argv[2])))
              for ends in ((one, other), (other, one)):
                  threading.Thread(target=pump, args=ends, daemon=True).start()
      """;

  /** Host-wide folders in which Tapline's programs create files. */
  private static final List<String> SHARED_FOLDERS =
      List.of("/dev/shm", "/dev/hugepages", "/run/dpdk", "/tmp/dpdk");

  /**
   * A world-writable folder like /tmp, in which files are protected only by their own permissions.
   */
  private Path temporary;

  private List<String> before;

  @BeforeEach
  void makeFolders() throws Exception {
    assumeTrue(
        System.getProperty("user.name").equals("root"),
        "SKIPPED: only root can run a client as another user");
    // The path is short, since a socket file's path can have at most 107 bytes.
    temporary = Files.createTempDirectory("second-");
    Files.setPosixFilePermissions(temporary, PosixFilePermissions.fromString("rwxrwxrwx"));
    before = sharedFiles();
  }

  @AfterEach
  void removeFolders() throws IOException {
    if (temporary != null) {
      delete(temporary);
    }
  }

  private static List<String> sharedFiles() throws IOException {
    List<String> all = new ArrayList<>();
    for (String folder : SHARED_FOLDERS) {
      if (Files.isDirectory(Path.of(folder))) {
        try (Stream<Path> files = Files.list(Path.of(folder))) {
          files.forEach(file -> all.add(file.toString()));
        }
      }
    }
    return all;
  }

  private Map<String, String> environment() {
    return Map.of("TMPDIR", temporary.toString());
  }

  /**
   * Returns everything that the unprivileged user can do with these processes and their files.
   *
   * @param rest port of the REST interface; null if there is none
   * @param others ports that are not tried, since the caller tests them
   */
  private List<String> reach(List<ProcessHandle> processes, Integer rest, Integer... others)
      throws Exception {
    ProcessTree tree = ProcessTree.of(processes);
    List<String> lines = new ArrayList<>();
    processes.forEach(process -> lines.add("process " + process.pid()));
    tree.ports().stream()
        .filter(port -> !port.equals(rest) && !List.of(others).contains(port))
        .forEach(port -> lines.add("port " + port));
    tree.sockets().forEach(socket -> lines.add("socket " + socket));
    tree.files().forEach(file -> lines.add("file " + file));
    sharedFiles().stream()
        .filter(file -> !before.contains(file))
        .forEach(file -> lines.add("file " + file));
    lines.add("folder " + temporary);
    if (rest != null) {
      lines.add("rest " + rest);
    }
    return asUnprivilegedUser(lines);
  }

  private List<String> asUnprivilegedUser(List<String> lines) throws Exception {
    Path classes = strangersClasses();
    File log = classes.resolve("log").toFile();
    try {
      Process stranger =
          new ProcessBuilder(
                  nobodys(
                      System.getProperty("java.home") + "/bin/java",
                      "-XX:TieredStopAtLevel=1",
                      "-cp",
                      classes + ":" + classes + "/*",
                      OtherUser.class.getName()))
              .redirectError(log)
              .start();
      try (var input = stranger.getOutputStream()) {
        input.write((String.join("\n", lines) + "\n").getBytes(StandardCharsets.UTF_8));
      }
      List<String> said =
          new String(stranger.getInputStream().readAllBytes(), StandardCharsets.UTF_8)
              .lines()
              .toList();
      assertThat(stranger.waitFor()).as("stranger: %s", Files.readString(log.toPath())).isZero();
      assertThat(said.get(said.size() - 1)).isEqualTo("tried " + lines.size());
      return said.subList(0, said.size() - 1);
    } finally {
      delete(classes);
    }
  }

  private static List<String> nobodys(String... command) {
    List<String> all =
        new ArrayList<>(
            List.of(
                "setpriv",
                "--reuid=" + OTHER_USER_ID,
                "--regid=" + OTHER_USER_ID,
                "--clear-groups"));
    all.addAll(List.of(command));
    return all;
  }

  /**
   * Creates a folder that the unprivileged user can read, outside of the folders that the test
   * examines.
   */
  private static Path strangersFolder() throws IOException {
    Path folder = Files.createTempDirectory("tapline-stranger-");
    Files.setPosixFilePermissions(folder, PosixFilePermissions.fromString("rwxr-xr-x"));
    return folder;
  }

  /**
   * Copies {@link OtherUser} and its libraries to a folder that the unprivileged user can read;
   * returns the folder.
   */
  private static Path strangersClasses() throws IOException {
    Path classes = strangersFolder();
    Path own =
        Path.of(OtherUser.class.getProtectionDomain().getCodeSource().getLocation().getPath());
    Path folder = own.resolve("io/tapline/e2e");
    Path copy = Files.createDirectories(classes.resolve("io/tapline/e2e"));
    try (Stream<Path> files = Files.list(folder)) {
      for (Path file : files.toList()) {
        if (file.getFileName().toString().startsWith(OtherUser.class.getSimpleName())) {
          Files.copy(file, copy.resolve(file.getFileName()));
        }
      }
    }
    for (Class<?> library : List.of(Admin.class, Logger.class)) {
      Path jar = Path.of(library.getProtectionDomain().getCodeSource().getLocation().getPath());
      Files.copy(jar, classes.resolve(jar.getFileName()));
    }
    return classes;
  }

  private static void delete(Path folder) throws IOException {
    try (Stream<Path> files = Files.walk(folder)) {
      for (Path file : files.sorted(Comparator.reverseOrder()).toList()) {
        Files.delete(file);
      }
    }
  }

  private static List<ProcessHandle> tree(Process process) {
    return Stream.concat(Stream.of(process.toHandle()), process.descendants()).toList();
  }

  private static void await(String awaited, Callable<Boolean> condition) throws Exception {
    long deadline = System.nanoTime() + SECONDS * 1_000_000_000L;
    while (!condition.call()) {
      assertThat(System.nanoTime()).as(awaited).isLessThan(deadline);
      Thread.sleep(100);
    }
  }

  @Test
  void onlyItsUserReachesAServerOnAnInterface() throws Exception {
    try (Server server = Server.start(environment(), "--interface", "lo")) {
      String query = server.submit(QUERY);
      server.awaitState(query, "running");
      List<ProcessHandle> processes = tree(server.process());
      assertThat(processes).as("server, Redis, agent, monitor").hasSizeGreaterThanOrEqualTo(4);
      int leases = portOfLeases(processes);
      assertGetsNoLease(server, leases);
      assertThat(reach(processes, server.port(), leases)).isEmpty();
    }
  }

  /** Returns the port at which the server accepts its own agent. */
  private static int portOfLeases(List<ProcessHandle> processes) {
    String option = "--control-plane 127.0.0.1:";
    String commands =
        processes.stream()
            .map(process -> String.join(" ", process.info().arguments().orElse(new String[0])))
            .filter(command -> command.contains(option))
            .findFirst()
            .orElseThrow();
    String port = commands.substring(commands.indexOf(option) + option.length()).split(" ")[0];
    return Integer.parseInt(port);
  }

  @Test
  void onlyTokenHoldersReachAServerWithTokens() throws Exception {
    Path tokens = temporary.resolve("tokens.yaml");
    Cli.run("token", "--tokens", tokens.toString(), "--tenant", "ops", "--role", "admin")
        .expectSuccess();
    String capture = Cli.root().resolve(CAPTURE).toString();
    try (Server server =
        Server.start(environment(), "--pcap", capture, "--tokens", tokens.toString())) {
      assertThat(reach(tree(server.process()), server.port())).isEmpty();
    }
  }

  @Test
  void onlyItsUserReachesTheServicesOfARun() throws Exception {
    String capture = Cli.root().resolve(CAPTURE).toString();
    try (Cli.Running run =
        Cli.start(environment(), "run", QUERY, "--pcap", capture, "--speed", "1x")) {
      await("packets: " + run.stderr(), () -> run.stderr().contains("reading packets"));
      assertThat(reach(tree(run.process()), null)).isEmpty();
    }
  }

  private static String program(String name) {
    return Cli.root().resolve("build/bin").resolve(name).toString();
  }

  private List<String> agent(int controlPlane, String program, String monitor, String name) {
    return List.of(
        program,
        "--name",
        name,
        "--monitor",
        monitor,
        "--interface",
        "lo",
        "--control-plane",
        "127.0.0.1:" + controlPlane,
        "--hugepages",
        "never",
        "--memory-mib",
        "64",
        "--max-connections",
        "16384");
  }

  private Cli.Running node(String name, String listen, String... arguments) {
    List<String> command = new ArrayList<>(List.of(program("tapline-multilog"), "--node", name));
    command.addAll(List.of("--memory-mib", "64", "--listen", listen));
    command.addAll(List.of(arguments));
    return Cli.startCommand(environment(), command);
  }

  private static List<JsonNode> known(Server server, String kind) throws Exception {
    List<JsonNode> knownNodes = new ArrayList<>();
    Cli.parse(server.get("/api/v1/nodes").body()).path(kind).forEach(knownNodes::add);
    return knownNodes;
  }

  private static List<String> agents(Server server) throws Exception {
    return known(server, "agents").stream().map(agent -> agent.path("agent").asText()).toList();
  }

  @Test
  void programsOnHostsServeOnlyTheirUser() throws Exception {
    int controlPlane = Server.freePort();
    int multilog = Server.freePort();
    int relay = Server.freePort();
    String capture = Cli.root().resolve(CAPTURE).toString();
    String rows = temporary.resolve("rows").toString();
    String feed = temporary.resolve("feed").toString();
    String socket = "unix:" + temporary.resolve("socket");
    List<String> agent =
        agent(controlPlane, program("tapline-agent"), program("tapline-monitor"), "own");
    try (Cli.Running storedRunning =
            node("stored", "127.0.0.1:" + multilog, "--pcap", capture, "--directory", rows);
        Cli.Running fed = node("fed", socket, "--headers-from", feed);
        Cli.Running relaying =
            Cli.startCommand(
                Map.of(), nobodys("/usr/bin/python3", "-c", RELAY, "" + relay, "" + multilog));
        Server server =
            Server.start(
                environment(),
                "--agents",
                "127.0.0.1:" + controlPlane,
                "--multilog",
                "own=127.0.0.1:" + multilog,
                "--multilog",
                "strangers=127.0.0.1:" + relay);
        Cli.Running own = Cli.startCommand(environment(), agent)) {
      await("the agent: " + own.stderr(), () -> agents(server).contains("own"));
      assertGetsNoHeaders(server);
      assertGetsNoLease(server, controlPlane);
      String query = server.submit(QUERY);
      server.awaitState(query, "running");
      await("files", () -> Stream.of(rows, feed).allMatch(file -> Files.exists(Path.of(file))));
      List<ProcessHandle> processes = new ArrayList<>();
      Stream.of(storedRunning.process(), fed.process(), server.process(), own.process())
          .forEach(process -> processes.addAll(tree(process)));
      assertThat(reach(processes, server.port(), controlPlane, multilog)).isEmpty();
    }
  }

  /**
   * Checks that another user's process gets no headers: the control plane queries the same node
   * directly and through that process.
   */
  private static void assertGetsNoHeaders(Server server) throws Exception {
    await(
        "both nodes are queried",
        () -> {
          Map<String, JsonNode> nodes = new HashMap<>();
          known(server, "nodes").forEach(node -> nodes.put(node.path("node").asText(), node));
          return nodes.get("own").path("state").asText().equals("up")
              && nodes.get("strangers").path("error").asText().contains("processes of its user");
        });
  }

  private void assertGetsNoLease(Server server, int controlPlane) throws Exception {
    List<String> previousAgents = agents(server);
    Path folder = strangersFolder();
    for (String name : List.of("tapline-agent", "tapline-monitor")) {
      Files.copy(Path.of(program(name)).toRealPath(), folder.resolve(name));
    }
    List<String> command =
        agent(
            controlPlane,
            folder.resolve("tapline-agent").toString(),
            folder.resolve("tapline-monitor").toString(),
            "stranger");
    try (Cli.Running stranger =
        Cli.startCommand(Map.of(), nobodys(command.toArray(String[]::new)))) {
      await(
          "the refusal",
          () -> stranger.stderr().contains("the control plane runs as another user"));
      assertThat(agents(server)).isEqualTo(previousAgents);
    } finally {
      delete(folder);
    }
  }
}
