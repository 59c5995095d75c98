package io.tapline.control.replicas;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.util.List;
import java.util.concurrent.TimeUnit;

/** Starts and stops web servers with the commands in the pool's file. */
final class ServerCommands {
  private static final int COMMAND_SECONDS = 60;
  private static final int RESPONSE_ATTEMPTS = 150;
  private static final int PAUSE_MS = 100;
  private static final int CONNECT_MS = 1000;

  /** Starts a server and waits until it accepts connections. */
  void start(WebServer server) throws IOException {
    run(server, server.start());
    for (int attempt = 1; ; attempt++) {
      try (Socket socket = new Socket()) {
        socket.connect(new InetSocketAddress(server.host(), server.port()), CONNECT_MS);
        return;
      } catch (IOException notYet) {
        if (attempt == RESPONSE_ATTEMPTS) {
          throw new IOException(server.name() + " does not listen on " + server.address(), notYet);
        }
      }
      pause();
    }
  }

  void stop(WebServer server) throws IOException {
    run(server, server.stop());
  }

  private static void run(WebServer server, List<String> command) throws IOException {
    if (command.isEmpty()) {
      return;
    }
    Process process =
        new ProcessBuilder(command)
            .redirectInput(ProcessBuilder.Redirect.from(new java.io.File("/dev/null")))
            .redirectOutput(ProcessBuilder.Redirect.DISCARD)
            .redirectError(ProcessBuilder.Redirect.INHERIT)
            .start();
    try {
      if (!process.waitFor(COMMAND_SECONDS, TimeUnit.SECONDS)) {
        process.destroyForcibly();
        throw new IOException(
            server.name() + ": '" + String.join(" ", command) + "' did not end within a minute");
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new IOException("interrupted", e);
    }
    if (process.exitValue() != 0) {
      throw new IOException(
          "%s: '%s' ended with exit code %d"
              .formatted(server.name(), String.join(" ", command), process.exitValue()));
    }
  }

  static void pause() throws IOException {
    try {
      Thread.sleep(PAUSE_MS);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new IOException("interrupted", e);
    }
  }
}
