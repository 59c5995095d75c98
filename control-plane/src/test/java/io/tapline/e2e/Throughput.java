package io.tapline.e2e;

import java.util.List;

/** What one TCP connection from host to host of a {@link Fabric} carries. */
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
      while time.monotonic() < began + 3:
          sent += connection.send(data)
      print(sent * 8 / 1e6 / (time.monotonic() - began))
      """;

  private final List<String> source;
  private final Fabric fabric;
  private final String from;
  private final Cli.Running sink;

  Throughput(Fabric fabric, String from, String to, String address) throws Exception {
    this.fabric = fabric;
    this.from = from;
    String port = Integer.toString(PORT);
    this.source = List.of("python3", "-c", SOURCE, address, port);
    this.sink = fabric.start(to, "python3", "-c", SINK, address, port);
    Fabric.await("it listens: " + sink.stderr(), () -> run().exitCode() == 0);
  }

  private Cli.Result run() {
    return Fabric.run(fabric.in(from, source.toArray(String[]::new)));
  }

  /** For three seconds. */
  double megabits() {
    return Double.parseDouble(run().expectSuccess().stdout().strip());
  }

  @Override
  public void close() {
    sink.close();
  }
}
