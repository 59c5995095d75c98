package io.tapline.control.testing;

import java.io.IOException;
import java.net.BindException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.util.concurrent.ThreadLocalRandom;

/** Finds free loopback TCP ports for servers. */
public final class FreePort {
  private static final int LOWEST_PORT = 20_000;

  /** The start of Linux's default net.ipv4.ip_local_port_range. */
  private static final int EPHEMERAL_PORTS = 32_768;

  private static final int MAX_ATTEMPTS = 100;

  private FreePort() {}

  /**
   * Returns a free port below the ephemeral ports, so that the system does not assign it to another
   * process before the caller listens on it.
   */
  public static int any() throws IOException {
    for (int attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
      int port = ThreadLocalRandom.current().nextInt(LOWEST_PORT, EPHEMERAL_PORTS);
      try (ServerSocket socket = new ServerSocket(port, 1, InetAddress.getLoopbackAddress())) {
        return socket.getLocalPort();
      } catch (BindException e) {
        // Tries another port.
      }
    }
    throw new IOException("no free port from " + LOWEST_PORT + " to " + EPHEMERAL_PORTS);
  }
}
