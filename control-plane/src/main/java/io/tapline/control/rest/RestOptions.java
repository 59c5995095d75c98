package io.tapline.control.rest;

import io.tapline.control.access.TokenFile;
import io.tapline.flink.TlsFiles;
import java.util.List;
import java.util.Optional;

/**
 * Where the REST server listens.
 *
 * @param bind address to bind to
 * @param port TCP port; 0 for any free one, which {@link RestServer#port} then tells
 * @param leader who leads
 * @param tokens of those who may ask; empty: this process's user and root may do everything
 * @param proxies whose word is taken for whom they ask
 * @param tls empty for plain HTTP
 * @param names of this host that requests may be for, besides its address
 * @param mostStreams event streams that are open at a time
 */
public record RestOptions(
    String bind,
    int port,
    Leader leader,
    Optional<TokenFile> tokens,
    TrustedProxies proxies,
    Optional<TlsFiles> tls,
    List<String> names,
    int mostStreams) {
  private static final int MOST_STREAMS = 1024;
  public static final String LOOPBACK = "127.0.0.1";

  public RestOptions {
    if (port < 0 || port > 65535) {
      throw new IllegalArgumentException("port " + port + ": a port is a number from 0 to 65535");
    }
  }

  /** On this host only. */
  public static RestOptions loopback(int port) {
    return at(LOOPBACK, port);
  }

  /** At an address of this host. */
  public static RestOptions at(String bind, int port) {
    return new RestOptions(
        bind,
        port,
        Leader.ALONE,
        Optional.empty(),
        TrustedProxies.NONE,
        Optional.empty(),
        List.of(),
        MOST_STREAMS);
  }

  /** The same of one of several control planes. */
  public RestOptions led(Leader by) {
    return new RestOptions(bind, port, by, tokens, proxies, tls, names, mostStreams);
  }

  /** For holders of these tokens. */
  public RestOptions with(TokenFile known) {
    return new RestOptions(
        bind, port, leader, Optional.of(known), proxies, tls, names, mostStreams);
  }

  /** Behind these. */
  public RestOptions behind(TrustedProxies trusted) {
    return new RestOptions(bind, port, leader, tokens, trusted, tls, names, mostStreams);
  }

  /** With so many event streams at a time at most. */
  public RestOptions streams(int most) {
    return new RestOptions(bind, port, leader, tokens, proxies, tls, names, most);
  }

  /** Over TLS alone. */
  public RestOptions with(TlsFiles files) {
    return new RestOptions(
        bind, port, leader, tokens, proxies, Optional.of(files), names, mostStreams);
  }

  /** Of a host with these names. */
  public RestOptions named(List<String> others) {
    return new RestOptions(
        bind, port, leader, tokens, proxies, tls, List.copyOf(others), mostStreams);
  }
}
