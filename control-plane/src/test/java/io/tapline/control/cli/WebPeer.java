package io.tapline.control.cli;

import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.charset.StandardCharsets;

/** Answers whatever it receives first as a web server answers a request that it can't read. */
final class WebPeer implements AutoCloseable {
  private static final String ANSWER =
      "HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";

  private final ServerSocket listener;
  private final Thread thread = new Thread(this::serve, "web-peer");

  private WebPeer(ServerSocket listener) {
    this.listener = listener;
  }

  static WebPeer start() throws IOException {
    WebPeer peer = new WebPeer(new ServerSocket(0, 8, InetAddress.getLoopbackAddress()));
    peer.thread.start();
    return peer;
  }

  String address() {
    return "127.0.0.1:" + listener.getLocalPort();
  }

  private void serve() {
    while (!listener.isClosed()) {
      try (Socket client = listener.accept()) {
        if (client.getInputStream().read(new byte[4096]) > 0) {
          client.getOutputStream().write(ANSWER.getBytes(StandardCharsets.US_ASCII));
        }
      } catch (IOException e) {
        // The client, or this server, has closed its connection.
      }
    }
  }

  @Override
  public void close() throws Exception {
    listener.close();
    thread.join();
  }
}
