package io.tapline.control.testing;

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.file.Path;
import org.apache.zookeeper.server.ServerCnxnFactory;
import org.apache.zookeeper.server.ZooKeeperServer;

/** A ZooKeeper server in this process, whose sessions can expire soon enough for a test. */
public final class TestZooKeeper implements AutoCloseable {
  private static final int TICK_MS = 500;

  private final Path data;
  private final int port = FreePort.any();
  private ServerCnxnFactory connections;
  private ZooKeeperServer server;

  /** Starts the server. */
  public TestZooKeeper(Path data) throws IOException, InterruptedException {
    this.data = data;
    start();
  }

  private void start() throws IOException, InterruptedException {
    server = new ZooKeeperServer(data.toFile(), data.toFile(), TICK_MS);
    connections =
        ServerCnxnFactory.createFactory(
            new InetSocketAddress(InetAddress.getLoopbackAddress(), port), -1);
    connections.startup(server);
  }

  public String address() {
    return "127.0.0.1:" + port;
  }

  /** Restarts the server on the same port with the same data. */
  public void restart() throws IOException, InterruptedException {
    close();
    start();
  }

  @Override
  public void close() throws InterruptedException {
    connections.shutdown();
    connections.join();
    server.shutdown();
  }
}
