package io.tapline.control.cli.options;

import io.tapline.control.cli.console.UsageException;
import io.tapline.control.drill.NodeAccess;
import io.tapline.control.drill.NodeAddress;
import io.tapline.control.server.ServerSettings;
import io.tapline.flink.TlsFiles;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import picocli.CommandLine.Option;

/** Options for the MultiLog nodes that a server queries, and for its watches. */
public final class MultilogOptions {
  @Option(
      names = "--multilog",
      paramLabel = "NAME=HOST:PORT",
      description =
          "A host's MultiLog node (tapline-multilog), for tapline drill; repeat for several. Nodes that agents report are added automatically. A node with the name of a host in the inventory is queried only for packets from or to that host.")
  private List<String> nodes = new ArrayList<>();

  @Option(
      names = "--multilog-ca",
      paramLabel = "FILE",
      description =
          "Use TLS with MultiLog nodes whose certificates these authorities (PEM) signed. Required for nodes of other hosts.")
  private Path authorities;

  @Option(
      names = "--multilog-certificate",
      paramLabel = "FILE",
      description =
          "Certificate to present to MultiLog nodes, and its chain, as PEM. Requires --multilog-ca.")
  private Path certificate;

  @Option(names = "--multilog-key", paramLabel = "FILE", description = "Its key (PEM, PKCS #8).")
  private Path key;

  @Option(
      names = "--multilog-token-file",
      paramLabel = "FILE",
      description = "File whose first line is the token that MultiLog nodes require.")
  private Path tokens;

  @Option(
      names = "--watches",
      paramLabel = "FILE",
      description =
          "File that keeps the watches (tapline watch) while the server is down; created if there is none. With --zookeeper they are kept there.")
  private Path watches;

  /**
   * Returns the nodes, the options for connections to them, and the watches' file.
   *
   * @param coordinated true if ZooKeeper coordinates several control planes
   * @throws UsageException if the options contradict each other, or a file can't be read
   */
  public ServerSettings.Nodes nodes(boolean coordinated) {
    if (coordinated && watches != null) {
      throw new UsageException("--watches excludes --zookeeper, which keeps the watches");
    }
    NodeAccess access = access();
    try {
      return new ServerSettings.Nodes(
          nodes.stream().map(NodeAddress::parse).toList(), access, Optional.ofNullable(watches));
    } catch (IllegalArgumentException e) {
      throw new UsageException("--multilog: " + e.getMessage());
    }
  }

  private NodeAccess access() {
    if ((certificate == null) != (key == null) || authorities == null && key != null) {
      throw new UsageException(
          "--multilog-certificate and --multilog-key require each other and --multilog-ca");
    }
    if (authorities == null && tokens == null) {
      return NodeAccess.LOCAL;
    }
    if (authorities == null) {
      throw new UsageException(
          "--multilog-token-file needs --multilog-ca: a token must not be sent unencrypted");
    }
    try {
      return NodeAccess.tls(
          new TlsFiles(authorities.toString(), text(certificate), text(key)), tokens);
    } catch (IOException e) {
      throw new UsageException("--multilog-…: " + e.getMessage());
    }
  }

  private static String text(Path file) {
    return file == null ? "" : file.toString();
  }
}
