package io.tapline.control.drill;

import io.grpc.Channel;
import io.grpc.ChannelCredentials;
import io.grpc.ClientInterceptors;
import io.grpc.InsecureChannelCredentials;
import io.grpc.Metadata;
import io.grpc.TlsChannelCredentials;
import io.grpc.stub.MetadataUtils;
import io.tapline.flink.TlsFiles;
import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.regex.Pattern;

/**
 * Credentials for connections to nodes. Socket files require none. If an authority is configured,
 * other addresses require TLS, optionally with a token and a client certificate. Without an
 * authority, connections are unencrypted and only to this host.
 */
public final class NodeAccess {
  /** Access to nodes on this host only, without TLS or a token. */
  public static final NodeAccess LOCAL = new NodeAccess(null, null);

  private static final Metadata.Key<String> AUTHORIZATION =
      Metadata.Key.of("authorization", Metadata.ASCII_STRING_MARSHALLER);

  /** The format of a node's token. */
  private static final Pattern TOKEN = Pattern.compile("[\\x21-\\x7e]{16,}");

  private final ChannelCredentials tls;
  private final String token;

  private NodeAccess(ChannelCredentials tls, String token) {
    this.tls = tls;
    this.token = token;
  }

  /**
   * Returns access over TLS; reads the files.
   *
   * @param tls authorities that sign the nodes' certificates, and this server's own certificate if
   *     the nodes require one
   * @param tokens a file whose first non-empty line is the nodes' token; null for none
   * @throws IOException with a user-facing message
   */
  public static NodeAccess tls(TlsFiles tls, Path tokens) throws IOException {
    return new NodeAccess(credentials(tls), tokens == null ? null : firstToken(tokens));
  }

  private static ChannelCredentials credentials(TlsFiles tls) throws IOException {
    // Throws if a file is missing or invalid; gRPC would only report failed connections.
    tls.context();
    TlsChannelCredentials.Builder credentials =
        TlsChannelCredentials.newBuilder().trustManager(new File(tls.authorities()));
    if (!tls.certificate().isEmpty()) {
      credentials.keyManager(new File(tls.certificate()), new File(tls.key()));
    }
    return credentials.build();
  }

  private static String firstToken(Path tokens) throws IOException {
    Optional<String> first;
    try {
      first = Files.readAllLines(tokens).stream().filter(line -> !line.isEmpty()).findFirst();
    } catch (IOException e) {
      throw new IOException(tokens + ": can't be read; does it exist?", e);
    }
    return first
        .filter(line -> TOKEN.matcher(line).matches())
        .orElseThrow(
            () ->
                new IOException(
                    tokens + ": a token must be a line of at least 16 characters without spaces"));
  }

  /**
   * Checks that connections to these nodes are allowed and that the nodes' names differ.
   *
   * @throws IllegalArgumentException with a user-facing message
   */
  public void check(List<NodeAddress> nodes) {
    Set<String> names = new HashSet<>();
    for (NodeAddress node : nodes) {
      String refusal = refusal(node);
      if (!refusal.isEmpty()) {
        throw new IllegalArgumentException(refusal);
      }
      if (!names.add(node.name())) {
        throw new IllegalArgumentException("two nodes are named " + node.name());
      }
    }
  }

  /** Returns a user-facing reason why access to a node is refused; empty if it is allowed. */
  String refusal(NodeAddress address) {
    return tls != null || address.isLocal()
        ? ""
        : address.target()
            + " is another host, so it requires TLS"
            + " (tapline server --multilog-ca FILE)";
  }

  /** Returns the credentials for a connection to a node. */
  ChannelCredentials credentials(NodeAddress address) {
    return tls == null || address.isSocketFile() ? InsecureChannelCredentials.create() : tls;
  }

  /** Returns a channel over this connection that adds the token, if required, to each call. */
  Channel calls(NodeAddress address, Channel connection) {
    if (token == null || address.isSocketFile()) {
      return connection;
    }
    Metadata headers = new Metadata();
    headers.put(AUTHORIZATION, "Bearer " + token);
    return ClientInterceptors.intercept(
        connection, MetadataUtils.newAttachHeadersInterceptor(headers));
  }
}
