package io.tapline.e2e;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;

/**
 * Measures the throughput of one TCP connection between two hosts of a {@link Fabric}, and the CPU
 * time of its switches.
 */
final class Throughput implements AutoCloseable {
  static final int PORT = 9000;

  private static final String SINK =
      """
      import socket, sys
      listening = socket.create_server((sys.argv[1], int(sys.argv[2])))
      while True:
          connection = listening.accept()[0]
          while connection.recv(1 << 20):
              pass
      """;

  private static final String SOURCE =
      """
      import socket, sys, time
      connection = socket.create_connection((sys.argv[1], int(sys.argv[2])), 30)
      sent, began, data = 0, time.monotonic(), bytes(1 << 16)
      while time.monotonic() < began + float(sys.argv[3]):
          sent += connection.send(data)
      print(sent, time.monotonic() - began)
      """;

  /** Length of a Linux clock tick, the unit of CPU time in /proc. */
  private static final double TICK_MS = 10;

  /**
   * One measurement.
   *
   * @param switchMsPerMb CPU time of ovs-vswitchd per megabyte sent
   */
  record Rate(double megabits, double switchMsPerMb) {}

  private final Fabric fabric;
  private final String from;
  private final String address;
  private final Cli.Running sink;

  Throughput(Fabric fabric, String source, String destination, String address) throws Exception {
    this.fabric = fabric;
    this.from = source;
    this.address = address;
    this.sink = fabric.start(destination, "python3", "-c", SINK, address, Integer.toString(PORT));
    Fabric.await("it listens", () -> run(0.1).exitCode() == 0);
  }

  private Cli.Result run(double seconds) {
    return Fabric.run(fabric.in(from, "python3", "-c", SOURCE, address, "" + PORT, "" + seconds));
  }

  /** Measures for three seconds. */
  Rate measure() throws IOException {
    long ticks = switchTicks();
    String[] words = run(3).expectSuccess().stdout().strip().split(" ");
    double worked = (switchTicks() - ticks) * TICK_MS;
    double bytes = Double.parseDouble(words[0]);
    return new Rate(bytes * 8 / 1e6 / Double.parseDouble(words[1]), worked / (bytes / 1e6));
  }

  private long switchTicks() throws IOException {
    Path stat = Path.of("/proc/" + fabric.pid("ovs-vswitchd") + "/stat");
    String[] fields = Files.readString(stat).replaceFirst(".*\\) ", "").split(" ");
    return Long.parseLong(fields[11]) + Long.parseLong(fields[12]);
  }

  @Override
  public void close() {
    sink.close();
  }
}
