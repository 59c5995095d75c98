package io.tapline.e2e;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.time.Instant;
import java.util.List;
import java.util.Set;
import java.util.stream.IntStream;

/**
 * A client on a host of a {@link Fabric}. It requests /NAME/0, /NAME/1, … from a web server one
 * after another, each on a separate connection, and records the times.
 */
final class Requests implements AutoCloseable {
  /** A number of requests that no test reaches. */
  static final int UNLIMITED = 1_000_000;

  private static final String PAUSE_SECONDS = "0.02";

  private static final String SCRIPT =
      """
      import http.client, sys, time
      host, port, name, count, pause = sys.argv[1], int(sys.argv[2]), sys.argv[3], int(sys.argv[4]), float(sys.argv[5])
      for i in range(count):
          began = time.time_ns()
          connection = http.client.HTTPConnection(host, port, timeout=60)
          connection.request("GET", f"/{name}/{i}")
          connection.getresponse().read()
          connection.close()
          print(f"/{name}/{i}", began, time.time_ns(), flush=True)
          time.sleep(pause)
      """;

  /** A web server without content, which does not resolve its own name. */
  private static final String SERVER =
      """
      import http.server, socketserver, sys
      class Nothing(http.server.BaseHTTPRequestHandler):
          def do_GET(self):
              self.send_error(404)
          def log_message(self, *what):
              pass
      class Server(http.server.ThreadingHTTPServer):
          request_queue_size = 128
          def server_bind(self):
              socketserver.TCPServer.server_bind(self)
      Server((sys.argv[1], int(sys.argv[2])), Nothing).serve_forever()
      """;

  /**
   * A request and its response.
   *
   * @param beganNs time before the connection was opened
   * @param endedNs time after the connection was closed
   */
  record Request(String url, long beganNs, long endedNs) {}

  private final String client;
  private final Cli.Running running;
  private List<Request> closed;

  private Requests(Fabric fabric, String client, String address, int port, String name, int count) {
    this.client = client;
    String[] command = {
      "python3", "-c", SCRIPT, address, "" + port, name, "" + count, PAUSE_SECONDS
    };
    this.running = fabric.start(client, command);
  }

  /** Starts a client. */
  static Requests start(
      Fabric fabric, String client, String address, int port, String name, int count) {
    return new Requests(fabric, client, address, port, name, count);
  }

  /** Starts a web server on a host; returns once it answers. */
  static Cli.Running serve(Fabric fabric, String host, String address, int port) throws Exception {
    Cli.Running server =
        fabric.start(host, "python3", "-c", SERVER, address, Integer.toString(port));
    String probe = "import socket; socket.create_connection((\"%s\", %d), 5)";
    Fabric.await(
        "the server of " + host + " answers: " + server.stderr(),
        () ->
            Fabric.run(fabric.in(host, "python3", "-c", probe.formatted(address, port))).exitCode()
                == 0);
    return server;
  }

  /** Returns the requests that have ended. */
  List<Request> done() {
    return closed == null ? read() : closed;
  }

  private List<Request> read() {
    try {
      String text = Files.readString(running.out());
      return text.substring(0, text.lastIndexOf('\n') + 1).lines().map(Requests::parse).toList();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private static Request parse(String line) {
    String[] words = line.split(" ");
    return new Request(words[0], Long.parseLong(words[1]), Long.parseLong(words[2]));
  }

  /** Returns the start times of the requests with these URLs, in order. */
  List<Long> beganNs(Set<String> urls) {
    return done().stream()
        .filter(request -> urls.contains(request.url()))
        .map(Request::beganNs)
        .sorted()
        .toList();
  }

  /**
   * Returns the longest time from one of these requests to the next one after a kill. The gap may
   * begin before the kill, which may lose requests that were seen shortly before it.
   */
  static long longestGapNs(List<Long> times, long killedNs) {
    return IntStream.range(1, times.size())
        .filter(i -> times.get(i) > killedNs)
        .mapToLong(i -> times.get(i) - times.get(i - 1))
        .max()
        .orElseThrow();
  }

  boolean isAlive() {
    return running.process().isAlive();
  }

  /** Returns the client's name and error output; must not be called after {@link #close}. */
  String log() {
    return client + ": " + running.stderr();
  }

  /** Returns the time since the epoch, by the clock that clients use. */
  static long nowNs() {
    Instant now = Instant.now();
    return now.getEpochSecond() * 1_000_000_000L + now.getNano();
  }

  /** Waits until all requests have ended; fails if one of them failed. */
  List<Request> await() {
    assertThat(running.await(150).exitCode())
        .as("client %s: %s", client, running.stderr())
        .isZero();
    return done();
  }

  @Override
  public void close() {
    if (closed == null) {
      running.process().destroyForcibly().onExit().join();
      closed = read();
      running.close();
    }
  }
}
