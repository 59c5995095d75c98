package io.tapline.control.probe;

import io.tapline.flink.RedisEndpoint;
import io.tapline.flink.TlsFiles;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;

/** A server that accepts TLS connections, reads a few bytes and closes the connections. */
public final class TlsPeer implements AutoCloseable {
  private final ServerSocket socket;

  private TlsPeer(ServerSocket socket) {
    this.socket = socket;
  }

  /**
   * Starts a server.
   *
   * @param files the server's certificate and key
   */
  public static TlsPeer start(TlsFiles files) throws IOException {
    TlsPeer peer =
        new TlsPeer(
            files
                .context()
                .getServerSocketFactory()
                .createServerSocket(0, 8, InetAddress.getLoopbackAddress()));
    Thread thread = new Thread(peer::serve, "tls-peer");
    thread.setDaemon(true);
    thread.start();
    return peer;
  }

  private void serve() {
    while (!socket.isClosed()) {
      try (Socket connection = socket.accept()) {
        connection.setSoTimeout(1_000);
        connection.getInputStream().read(new byte[64]);
      } catch (IOException e) {
        // The client does not use TLS, or the server is closed.
      }
    }
  }

  public String address() {
    return "127.0.0.1:" + socket.getLocalPort();
  }

  RedisEndpoint redis() {
    return RedisEndpoint.open("127.0.0.1", socket.getLocalPort());
  }

  @Override
  public void close() throws IOException {
    socket.close();
  }
}
