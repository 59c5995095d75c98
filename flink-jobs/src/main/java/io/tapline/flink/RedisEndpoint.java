package io.tapline.flink;

import java.io.Serializable;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.net.UnixDomainSocketAddress;
import java.nio.file.Path;

/**
 * The address and credentials with which clients connect to a Redis server.
 *
 * @param at unresolved host and port, or a Unix socket
 * @param tls PEM files, which must have the same paths on every host with clients; none for
 *     plaintext
 * @param login the ACL user; none for a server that requires no login
 */
public record RedisEndpoint(SocketAddress at, TlsFiles tls, Login login) implements Serializable {
  private static final int DEFAULT_PORT = 6379;
  private static final String UNIX = "unix:";

  public RedisEndpoint {
    if (at instanceof UnixDomainSocketAddress && !tls.isNone()) {
      throw new IllegalArgumentException(UNIX + at + ": TLS is not supported over a Unix socket");
    }
  }

  /**
   * Returns an endpoint that accepts plaintext connections from any client.
   *
   * @param host host name or address, IPv6 without brackets
   */
  public static RedisEndpoint open(String host, int port) {
    if (port < 1 || port > 65_535) {
      throw new IllegalArgumentException("redis port " + port + " is not in 1..65535");
    }
    return new RedisEndpoint(
        InetSocketAddress.createUnresolved(host, port), TlsFiles.NONE, Login.NONE);
  }

  /** Returns the endpoint of a server that listens on a Unix socket of this host. */
  public static RedisEndpoint unix(Path socket) {
    return new RedisEndpoint(UnixDomainSocketAddress.of(socket), TlsFiles.NONE, Login.NONE);
  }

  /**
   * Parses {@code host:port}, {@code [v6]:port}, a host alone (port 6379) or {@code unix:/path}.
   *
   * @throws IllegalArgumentException if the text is none of these
   */
  public static RedisEndpoint parse(String text) {
    if (text.startsWith(UNIX + "/")) {
      return unix(Path.of(text.substring(UNIX.length())));
    }
    int colon = text.lastIndexOf(':');
    boolean hasPort = colon > text.lastIndexOf(']') && colon > 0;
    String host = hasPort ? text.substring(0, colon) : text;
    return open(withoutBrackets(host), hasPort ? port(text, colon) : DEFAULT_PORT);
  }

  private static int port(String text, int colon) {
    try {
      return Integer.parseInt(text.substring(colon + 1));
    } catch (NumberFormatException e) {
      throw new IllegalArgumentException(
          "redis address '" + text + "' is not host:port or unix:/path");
    }
  }

  private static String withoutBrackets(String host) {
    return host.startsWith("[") && host.endsWith("]") ? host.substring(1, host.length() - 1) : host;
  }

  public RedisEndpoint withTls(TlsFiles files) {
    return new RedisEndpoint(at, files, login);
  }

  public RedisEndpoint withLogin(Login newLogin) {
    return new RedisEndpoint(at, tls, newLogin);
  }

  public boolean isUnix() {
    return at instanceof UnixDomainSocketAddress;
  }

  /**
   * Returns the server's address in the format of {@link #parse}; messages name the server this
   * way.
   */
  public String address() {
    if (at instanceof InetSocketAddress tcp) {
      String host = tcp.getHostString();
      return (host.contains(":") ? "[" + host + "]" : host) + ":" + tcp.getPort();
    }
    return UNIX + at;
  }
}
