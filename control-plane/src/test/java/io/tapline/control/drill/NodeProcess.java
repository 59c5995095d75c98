package io.tapline.control.drill;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.net.ConnectException;
import java.net.Socket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;

/**
 * A {@code tapline-multilog} process that reads a capture, by default listening on a Unix socket.
 */
public final class NodeProcess implements AutoCloseable {
  private static final Path ROOT = Path.of(System.getProperty("tapline.root", ".."));
  private static final Duration TIMEOUT = Duration.ofSeconds(30);

  private final Process process;
  private final NodeAddress address;
  private final Path log;

  private NodeProcess(Process process, NodeAddress address, Path log) {
    this.process = process;
    this.address = address;
    this.log = log;
  }

  /** Returns the path of a bundled capture. */
  public static Path capture(String name) {
    return ROOT.resolve("testbed/captures").resolve(name);
  }

  /** Starts a node and waits until its log contains every packet of the capture. */
  static NodeProcess start(Path folder, String name, Path capture, String... settings)
      throws Exception {
    NodeProcess node = launch(folder, name, capture, settings);
    node.awaitRows(NodeAccess.LOCAL);
    return node;
  }

  /** Starts a node without waiting for its packets. */
  public static NodeProcess launch(Path folder, String name, Path capture, String... settings)
      throws IOException {
    NodeAddress address = new NodeAddress(name, "unix:" + folder.resolve(name + ".sock"));
    return launchAt(folder, address, capture, settings);
  }

  /** Starts a node at a given address, which may be that of an earlier node. */
  static NodeProcess launchAt(Path folder, NodeAddress address, Path capture, String... settings)
      throws IOException {
    Path log = folder.resolve(address.name() + ".log");
    List<String> command =
        new ArrayList<>(List.of(ROOT.resolve("build/bin/tapline-multilog").toString()));
    command.addAll(List.of("--pcap", capture.toString(), "--node", address.name()));
    command.addAll(List.of("--listen", address.target(), "--memory-mib", "64"));
    command.addAll(List.of(settings));
    Process process = new ProcessBuilder(command).redirectError(log.toFile()).start();
    return new NodeProcess(process, address, log);
  }

  /** Waits until the node accepts connections. REQUIRES: its address is HOST:PORT. */
  void awaitListening() throws Exception {
    int colon = address.target().lastIndexOf(':');
    int port = Integer.parseInt(address.target().substring(colon + 1));
    Instant end = Instant.now().plus(TIMEOUT);
    while (true) {
      try (Socket socket = new Socket(address.target().substring(0, colon), port)) {
        assertThat(socket.isConnected()).isTrue();
        return;
      } catch (ConnectException notYet) {
        assertThat(Instant.now()).as(() -> read(log)).isBefore(end);
        Thread.sleep(20);
      }
    }
  }

  /** Waits until the node's log contains every packet of the capture. */
  void awaitRows(NodeAccess access) throws Exception {
    Instant end = Instant.now().plus(TIMEOUT);
    try (DrillService drill = new DrillService(List.of(address), name -> List.of(), access)) {
      while (Instant.now().isBefore(end)) {
        assertThat(process.isAlive()).as(() -> read(log)).isTrue();
        DrillService.NodeState state = drill.states().get(0);
        if (state.description() != null && state.description().getCounters().getCaptureEnded()) {
          return;
        }
        Thread.sleep(20);
      }
    }
    throw new AssertionError("no rows in time: " + read(log));
  }

  private static String read(Path log) {
    try {
      return Files.readString(log);
    } catch (IOException e) {
      return e.toString();
    }
  }

  /** Returns the node's standard error. */
  String log() {
    return read(log);
  }

  public NodeAddress address() {
    return address;
  }

  public void kill() throws InterruptedException {
    process.destroyForcibly().waitFor();
  }

  @Override
  public void close() throws Exception {
    process.destroy();
    if (!process.waitFor(10, TimeUnit.SECONDS)) {
      kill();
      throw new AssertionError("tapline-multilog did not end on SIGTERM");
    }
  }
}
