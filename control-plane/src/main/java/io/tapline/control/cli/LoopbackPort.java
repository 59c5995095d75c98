package io.tapline.control.cli;

import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;

/** A TCP port of this host. */
final class LoopbackPort {
  private LoopbackPort() {}

  /** Finds out before a pipeline is started in vain. */
  static void requireFree(int port) {
    try (ServerSocket socket = new ServerSocket(port, 1, InetAddress.getByName("127.0.0.1"))) {
      socket.getLocalPort();
    } catch (IOException e) {
      throw new CommandException(
          "can't listen on 127.0.0.1:%d (%s): stop what uses the port, or choose another with --port"
              .formatted(port, e.getMessage()),
          e);
    }
  }
}
