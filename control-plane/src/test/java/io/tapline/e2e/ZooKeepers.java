package io.tapline.e2e;

import java.io.IOException;
import java.net.InetAddress;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

/** An ensemble of three ZooKeeper servers, each in a process that can be killed. */
final class ZooKeepers implements AutoCloseable {
  private static final int SERVERS = 3;

  private final Path folder;
  private final int[] ports = new int[SERVERS];
  private final Process[] processes = new Process[SERVERS];

  ZooKeepers(Path folder) throws Exception {
    this.folder = folder;
    List<String> servers = new ArrayList<>();
    for (int i = 0; i < SERVERS; i++) {
      ports[i] = Server.freePort();
      servers.add(
          "server.%d=127.0.0.1:%d:%d".formatted(i + 1, Server.freePort(), Server.freePort()));
    }
    for (int i = 0; i < SERVERS; i++) {
      Path data = Files.createDirectories(folder.resolve(Integer.toString(i)));
      Files.writeString(data.resolve("myid"), Integer.toString(i + 1));
      Files.writeString(config(i), settings(i, data) + String.join("\n", servers) + "\n");
      start(i);
    }
    Fabric.await("three ZooKeeper servers answer", () -> serving() == SERVERS);
  }

  private Path config(int number) {
    return folder.resolve(number + ".cfg");
  }

  private String settings(int number, Path data) {
    return """
        tickTime=500
        initLimit=40
        syncLimit=10
        dataDir=%s
        clientPort=%d
        clientPortAddress=127.0.0.1
        admin.enableServer=false
        4lw.commands.whitelist=srvr
        """
        .formatted(data, ports[number]);
  }

  /** Starts a stopped server. */
  void start(int number) throws IOException {
    Path java = Cli.root().resolve("build/java");
    processes[number] =
        new ProcessBuilder(
                "java",
                "-Xmx64m",
                "-XX:+UseSerialGC",
                "-XX:TieredStopAtLevel=1",
                "-XX:-UsePerfData",
                "-cp",
                "%s/zookeeper/*:%s/lib/*".formatted(java, java),
                "org.apache.zookeeper.server.quorum.QuorumPeerMain",
                config(number).toString())
            .redirectErrorStream(true)
            .redirectOutput(folder.resolve(number + ".log").toFile())
            .start();
  }

  void kill(int number) throws InterruptedException {
    processes[number].destroyForcibly().waitFor();
  }

  String addresses() {
    return IntStream.of(ports)
        .mapToObj(port -> "127.0.0.1:" + port)
        .collect(Collectors.joining(","));
  }

  /** Returns the number of servers that answer clients. */
  long serving() {
    return IntStream.range(0, SERVERS).filter(i -> status(i).contains("Mode: ")).count();
  }

  /** Returns the number of the leading server. */
  int leader() {
    return IntStream.range(0, SERVERS)
        .filter(i -> status(i).contains("Mode: leader"))
        .findAny()
        .orElseThrow();
  }

  private String status(int number) {
    try (Socket socket = new Socket(InetAddress.getLoopbackAddress(), ports[number])) {
      socket.setSoTimeout(5_000);
      socket.getOutputStream().write("srvr".getBytes(StandardCharsets.US_ASCII));
      return new String(socket.getInputStream().readAllBytes(), StandardCharsets.US_ASCII);
    } catch (IOException nobody) {
      return "";
    }
  }

  List<Process> processes() {
    return List.of(processes);
  }

  @Override
  public void close() throws InterruptedException {
    for (Process process : processes) {
      if (process != null) {
        process.destroyForcibly().waitFor();
      }
    }
  }
}
