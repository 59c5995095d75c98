package io.tapline.control.testing;

import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;

/** A ZooKeeper server that requires TLS and client certificates, in a separate process. */
public final class SecureZooKeeper implements AutoCloseable {
  private final Path folder;
  private final int port = FreePort.any();
  private final Process server;

  /**
   * Starts a server, which takes a moment to become ready.
   *
   * @param own the server's certificate, OWN.pem and OWN.key in the folder
   * @param authorities CA certificates that signed the clients' certificates
   */
  public SecureZooKeeper(Path folder, String own, Path authorities) throws IOException {
    this.folder = folder;
    Path both = folder.resolve(own + "-with-key.pem");
    Files.writeString(both, content(own + ".pem") + content(own + ".key"));
    Path config = folder.resolve("zoo.cfg");
    Files.writeString(
        config,
        """
        dataDir=%s
        secureClientPort=%d
        serverCnxnFactory=org.apache.zookeeper.server.NettyServerCnxnFactory
        ssl.keyStore.location=%s
        ssl.trustStore.location=%s
        ssl.clientAuth=need
        authProvider.x509=org.apache.zookeeper.server.auth.X509AuthenticationProvider
        enforce.auth.enabled=true
        enforce.auth.schemes=x509
        admin.enableServer=false
        """
            .formatted(folder.resolve("data"), port, both, authorities));
    server =
        new ProcessBuilder(
                List.of(
                    "setpriv",
                    "--pdeathsig",
                    "KILL",
                    System.getProperty("java.home") + File.separator + "bin/java",
                    "-Xmx64m",
                    "-XX:TieredStopAtLevel=1",
                    "-XX:-UsePerfData",
                    "-cp",
                    System.getProperty(
                        "surefire.test.class.path", System.getProperty("java.class.path")),
                    "org.apache.zookeeper.server.ZooKeeperServerMain",
                    config.toString()))
            .redirectErrorStream(true)
            .redirectOutput(folder.resolve("zookeeper.log").toFile())
            .start();
  }

  public int port() {
    return port;
  }

  /** Returns the server's log. */
  public String log() throws IOException {
    return content("zookeeper.log");
  }

  private String content(String name) throws IOException {
    return Files.readString(folder.resolve(name));
  }

  @Override
  public void close() throws InterruptedException {
    server.destroyForcibly().waitFor();
  }
}
