package io.tapline.control.cli.options;

import io.tapline.control.cli.console.CommandException;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;

/** Checks TCP ports to listen on. */
final class ListeningPort {
  private ListeningPort() {}

  /** Throws if the port can't be listened on; called before a pipeline is started. */
  static void requireFree(InetAddress address, int port) {
    try (ServerSocket socket = new ServerSocket(port, 1, address)) {
      socket.getLocalPort();
    } catch (IOException e) {
      throw new CommandException(
          "can't listen on %s:%d (%s): stop what uses the port, or choose another with --port"
              .formatted(address.getHostAddress(), port, e.getMessage()),
          e);
    }
  }
}
