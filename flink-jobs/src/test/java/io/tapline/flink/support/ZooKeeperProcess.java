package io.tapline.flink.support;

import java.io.IOException;
import java.net.InetAddress;
import java.net.Socket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;

/** A ZooKeeper server with session timeouts that are short enough for tests. */
public final class ZooKeeperProcess implements AutoCloseable {
  private final int port = FreePort.choose();
  private final ServerProcess process;

  public ZooKeeperProcess(Path directory) throws Exception {
    Path file = Files.createDirectories(directory).resolve("zoo.cfg");
    Files.writeString(
        file,
        """
        tickTime=500
        dataDir=%s
        clientPort=%d
        clientPortAddress=127.0.0.1
        admin.enableServer=false
        """
            .formatted(directory.resolve("data"), port));
    process =
        ServerProcess.java(
            directory.resolve("log"),
            List.of("-Xmx64m"),
            "org.apache.zookeeper.server.ZooKeeperServerMain",
            List.of(file.toString()));
    process.start();
    Deadline.await("ZooKeeper on port " + port, this::answers);
  }

  private boolean answers() {
    process.requireAlive();
    try (Socket socket = new Socket(InetAddress.getLoopbackAddress(), port)) {
      return socket.isConnected();
    } catch (IOException e) {
      return false;
    }
  }

  public String address() {
    return "127.0.0.1:" + port;
  }

  @Override
  public void close() throws InterruptedException {
    process.close();
  }
}
