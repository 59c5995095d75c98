package io.tapline.control.embedded;

import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;

/** Finds free TCP ports on the loopback interface. */
final class Ports {
  private Ports() {}

  /**
   * Returns distinct ports that were free a moment ago. Another process may take one before it is
   * used, so callers must retry with others.
   */
  static int[] free(int count) throws IOException {
    ServerSocket[] sockets = new ServerSocket[count];
    int[] ports = new int[count];
    try {
      for (int i = 0; i < count; i++) {
        sockets[i] = new ServerSocket(0, 1, InetAddress.getByName("127.0.0.1"));
        ports[i] = sockets[i].getLocalPort();
      }
      return ports;
    } finally {
      for (ServerSocket socket : sockets) {
        if (socket != null) {
          socket.close();
        }
      }
    }
  }
}
