package io.tapline.e2e;

import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

/**
 * Forwards TCP connections to a server. Once {@link #hold} is called, limits the rate of the
 * server's responses, in bytes per second, on each connection: a bottleneck without losses.
 */
final class ThinLink implements AutoCloseable {
  private static final int PIECE = 1_024;

  private final ServerSocket listening;
  private final Set<Socket> open = ConcurrentHashMap.newKeySet();
  private volatile InetSocketAddress server;
  private volatile double bytesPerSecond = Double.POSITIVE_INFINITY;

  /** Listens immediately; connections before {@link #lead} are accepted, but not forwarded. */
  ThinLink(String address) throws IOException {
    listening = new ServerSocket(0, 50, InetAddress.getByName(address));
    start(this::accept, "link");
  }

  int port() {
    return listening.getLocalPort();
  }

  /** Sets the server ({@code host:port}). */
  void lead(String address) {
    String[] parts = address.split(":");
    server = new InetSocketAddress(parts[0], Integer.parseInt(parts[1]));
  }

  void hold(double newBytesPerSecond) {
    bytesPerSecond = newBytesPerSecond;
  }

  private static void start(Runnable work, String name) {
    Thread thread = new Thread(work, name);
    thread.setDaemon(true);
    thread.start();
  }

  private void accept() {
    while (!listening.isClosed()) {
      try {
        Socket client = listening.accept();
        open.add(client);
        Socket out = new Socket();
        open.add(out);
        out.connect(server);
        start(() -> pass(client, out, false), "link-up");
        start(() -> pass(out, client, true), "link-down");
      } catch (IOException | RuntimeException e) {
        // The client will reconnect.
      }
    }
  }

  /** Forwards until either end closes its connection; then closes both. */
  private void pass(Socket source, Socket target, boolean throttled) {
    byte[] piece = new byte[PIECE];
    try (source;
        target) {
      InputStream in = source.getInputStream();
      OutputStream out = target.getOutputStream();
      for (int bytes = in.read(piece); bytes >= 0; bytes = in.read(piece)) {
        if (throttled) {
          Thread.sleep((long) (1e3 * bytes / bytesPerSecond));
        }
        out.write(piece, 0, bytes);
      }
    } catch (IOException e) {
      // The other end closed the connection.
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    } finally {
      open.remove(source);
      open.remove(target);
    }
  }

  @Override
  public void close() throws IOException {
    listening.close();
    for (Socket socket : open) {
      socket.close();
    }
  }
}
