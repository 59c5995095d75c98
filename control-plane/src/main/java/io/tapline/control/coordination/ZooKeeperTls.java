package io.tapline.control.coordination;

import io.tapline.flink.TlsFiles;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import org.apache.zookeeper.client.ZKClientConfig;
import org.apache.zookeeper.common.ClientX509Util;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A client's TLS settings for ZooKeeper. ZooKeeper's library reads the certificate and the key from
 * one file, which it rereads for each session. This class creates the file, readable only by this
 * user, and deletes it in {@link #close}. Thread-safe.
 */
final class ZooKeeperTls implements AutoCloseable {
  private static final Logger LOG = LoggerFactory.getLogger(ZooKeeperTls.class);
  private static final String PEM = "PEM";

  private final TlsFiles files;
  private final Path identity;

  /**
   * Creates the file.
   *
   * @param files TLS files; none for a connection without TLS
   */
  ZooKeeperTls(TlsFiles files) throws IOException {
    this.files = files;
    this.identity = files.isNone() ? null : identity(files);
  }

  private static Path identity(TlsFiles files) throws IOException {
    // Throws if something is wrong with the files; ZooKeeper's library would only fail to connect.
    files.context();
    Path file =
        Files.createTempFile(
            "tapline-zookeeper-",
            ".pem",
            PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rw-------")));
    file.toFile().deleteOnExit();
    String certificate = Files.readString(Path.of(files.certificate()));
    Files.writeString(file, certificate + "\n" + Files.readString(Path.of(files.key())));
    return file;
  }

  boolean isWanted() {
    return identity != null;
  }

  /** Returns the settings for a ZooKeeper client. */
  ZKClientConfig settings() {
    ZKClientConfig settings = new ZKClientConfig();
    if (isWanted()) {
      try (ClientX509Util names = new ClientX509Util()) {
        settings.setProperty(ZKClientConfig.SECURE_CLIENT, "true");
        settings.setProperty(ZKClientConfig.ZOOKEEPER_CLIENT_CNXN_SOCKET, "ClientCnxnSocketNetty");
        settings.setProperty(names.getSslKeystoreTypeProperty(), PEM);
        settings.setProperty(names.getSslKeystoreLocationProperty(), identity.toString());
        settings.setProperty(names.getSslTruststoreTypeProperty(), PEM);
        settings.setProperty(names.getSslTruststoreLocationProperty(), files.authorities());
      }
    }
    return settings;
  }

  @Override
  public void close() {
    if (identity != null) {
      try {
        Files.deleteIfExists(identity);
      } catch (IOException e) {
        LOG.warn("can't delete {}: {}", identity, e.toString());
      }
    }
  }
}
