package io.tapline.matrix;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.apache.zookeeper.CreateMode;
import org.apache.zookeeper.KeeperException;
import org.apache.zookeeper.Watcher.Event.KeeperState;
import org.apache.zookeeper.ZooDefs;
import org.apache.zookeeper.ZooKeeper;
import org.apache.zookeeper.client.ZKClientConfig;
import org.apache.zookeeper.common.ClientX509Util;

/** Probes of the ZooKeeper servers as a ZooKeeper client. */
final class ZooKeeperProbes {
  private static final int SESSION_MS = 10_000;

  /** An action in a session. */
  interface Use {
    void with(ZooKeeper session) throws Exception;
  }

  /** Tries an operation of the table. */
  void run(String operation, Component client, int port) throws Exception {
    use(client, port, session -> run(operation, session));
  }

  /** Opens a session with the client's certificate, uses it and closes it. */
  static void use(Component client, int port, Use use) throws Exception {
    Path identity = Files.createTempFile("matrix-", ".pem");
    CountDownLatch connected = new CountDownLatch(1);
    ZooKeeper session =
        new ZooKeeper(
            "zookeeper-1:" + port,
            SESSION_MS,
            event -> {
              if (event.getState() == KeeperState.SyncConnected) {
                connected.countDown();
              }
            },
            settings(client, identity));
    try {
      if (!connected.await(SESSION_MS, TimeUnit.MILLISECONDS)) {
        throw new Refused("no session");
      }
      use.with(session);
    } catch (KeeperException.NoAuthException | KeeperException.AuthFailedException e) {
      throw new Refused(e.getMessage());
    } finally {
      session.close();
      Files.deleteIfExists(identity);
    }
  }

  private static void run(String operation, ZooKeeper session) throws Exception {
    switch (operation) {
      case "read-tapline" -> session.getChildren("/tapline", false);
      case "write-tapline" -> write(session, "/tapline");
      case "read-flink" -> session.getChildren("/flink", false);
      case "write-flink" -> write(session, "/flink");
      case "write-root" -> write(session, "");
      default -> throw new IllegalArgumentException("no probe for " + operation);
    }
  }

  private static void write(ZooKeeper session, String parent) throws Exception {
    String path = parent + "/matrix";
    session.create(path, new byte[0], ZooDefs.Ids.OPEN_ACL_UNSAFE, CreateMode.EPHEMERAL);
    session.delete(path, -1);
  }

  private static ZKClientConfig settings(Component client, Path identity) throws Exception {
    Files.writeString(
        identity,
        Files.readString(Path.of(client.tls().certificate()))
            + "\n"
            + Files.readString(Path.of(client.tls().key())));
    ZKClientConfig settings = new ZKClientConfig();
    try (ClientX509Util names = new ClientX509Util()) {
      settings.setProperty(ZKClientConfig.SECURE_CLIENT, "true");
      settings.setProperty(ZKClientConfig.ZOOKEEPER_CLIENT_CNXN_SOCKET, "ClientCnxnSocketNetty");
      settings.setProperty(names.getSslKeystoreTypeProperty(), "PEM");
      settings.setProperty(names.getSslKeystoreLocationProperty(), identity.toString());
      settings.setProperty(names.getSslTruststoreTypeProperty(), "PEM");
      settings.setProperty(
          names.getSslTruststoreLocationProperty(), client.authorities().toString());
    }
    return settings;
  }
}
