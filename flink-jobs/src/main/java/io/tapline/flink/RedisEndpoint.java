package io.tapline.flink;

import java.io.Serializable;
import java.util.Objects;

/**
 * How clients reach a Redis server.
 *
 * @param host its name or address, IPv6 without brackets
 * @param port its port
 * @param tls PEM files that every client of a job finds at the same paths; none for plaintext
 * @param login the ACL user; none for a server that asks for no login
 */
public record RedisEndpoint(String host, int port, TlsFiles tls, Login login)
    implements Serializable {
  private static final int DEFAULT_PORT = 6379;

  public RedisEndpoint {
    Objects.requireNonNull(host, "host");
    if (port < 1 || port > 65_535) {
      throw new IllegalArgumentException("redis port " + port + " is not in 1..65535");
    }
  }

  /** A server that takes plaintext connections from anyone. */
  public static RedisEndpoint open(String host, int port) {
    return new RedisEndpoint(host, port, TlsFiles.NONE, Login.NONE);
  }

  /**
   * Reads {@code host:port}, {@code [v6]:port} or a host alone (port 6379).
   *
   * @throws IllegalArgumentException if the text is none of these
   */
  public static RedisEndpoint parse(String text) {
    int colon = text.lastIndexOf(':');
    boolean hasPort = colon > text.lastIndexOf(']') && colon > 0;
    String host = hasPort ? text.substring(0, colon) : text;
    return open(withoutBrackets(host), hasPort ? port(text, colon) : DEFAULT_PORT);
  }

  private static int port(String text, int colon) {
    try {
      return Integer.parseInt(text.substring(colon + 1));
    } catch (NumberFormatException e) {
      throw new IllegalArgumentException("redis address '" + text + "' is not host:port");
    }
  }

  private static String withoutBrackets(String host) {
    return host.startsWith("[") && host.endsWith("]") ? host.substring(1, host.length() - 1) : host;
  }

  public RedisEndpoint withTls(TlsFiles files) {
    return new RedisEndpoint(host, port, files, login);
  }

  public RedisEndpoint withLogin(Login other) {
    return new RedisEndpoint(host, port, tls, other);
  }

  /** {@code host:port}, as {@link #parse} reads it and as messages name the server. */
  public String address() {
    return (host.contains(":") ? "[" + host + "]" : host) + ":" + port;
  }
}
