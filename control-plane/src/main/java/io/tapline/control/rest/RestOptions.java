package io.tapline.control.rest;

import io.tapline.control.access.TokenFile;
import io.tapline.control.query.TriggerQuota;
import io.tapline.flink.TlsFiles;
import java.util.List;
import java.util.Optional;

/**
 * Settings of the REST server.
 *
 * @param bind address to bind to
 * @param port TCP port; 0 for any free one, which {@link RestServer#port} then returns
 * @param leader reports which control plane is the leader
 * @param tokens tokens of the clients; if empty, this process's user and root may do everything
 * @param proxies proxies that are trusted to name their clients
 * @param tls empty for plain HTTP
 * @param names names of this host that requests may use in addition to its address
 * @param maxStreams maximum number of open event streams
 */
public record RestOptions(
    String bind,
    int port,
    Leader leader,
    Optional<TokenFile> tokens,
    TrustedProxies proxies,
    Optional<TlsFiles> tls,
    List<String> names,
    int maxStreams) {
  private static final int MAX_STREAMS = 1024;
  private static final double PERCENT = 100;
  public static final String LOOPBACK = "127.0.0.1";

  public RestOptions {
    if (port < 0 || port > 65535) {
      throw new IllegalArgumentException(
          "port " + port + ": a port must be a number from 0 to 65535");
    }
  }

  /** Returns the options of a server that listens on this host only. */
  public static RestOptions loopback(int port) {
    return at(LOOPBACK, port);
  }

  /** Returns the options of a server that listens on an address of this host. */
  public static RestOptions at(String bind, int port) {
    return new RestOptions(
        bind,
        port,
        Leader.ALONE,
        Optional.empty(),
        TrustedProxies.NONE,
        Optional.empty(),
        List.of(),
        MAX_STREAMS);
  }

  /** Returns the share of a monitor that a tenant's triggers may use at the moment. */
  public TriggerQuota triggerQuota(String tenant) {
    return tokens
        .map(file -> file.quota(tenant))
        .map(quota -> new TriggerQuota(quota.triggerGroups(), quota.triggerPercent() / PERCENT))
        .orElse(TriggerQuota.NONE);
  }

  /** Returns these options for one of several control planes. */
  public RestOptions led(Leader newLeader) {
    return new RestOptions(bind, port, newLeader, tokens, proxies, tls, names, maxStreams);
  }

  /** Returns these options with this token file. */
  public RestOptions with(TokenFile knownFile) {
    return new RestOptions(
        bind, port, leader, Optional.of(knownFile), proxies, tls, names, maxStreams);
  }

  /** Returns these options with these trusted proxies. */
  public RestOptions behind(TrustedProxies trusted) {
    return new RestOptions(bind, port, leader, tokens, trusted, tls, names, maxStreams);
  }

  /** Returns these options with a different maximum number of open event streams. */
  public RestOptions streams(int maxStreams) {
    return new RestOptions(bind, port, leader, tokens, proxies, tls, names, maxStreams);
  }

  /** Returns these options with TLS instead of plain HTTP. */
  public RestOptions with(TlsFiles files) {
    return new RestOptions(
        bind, port, leader, tokens, proxies, Optional.of(files), names, maxStreams);
  }

  /** Returns these options with additional host names. */
  public RestOptions named(List<String> others) {
    return new RestOptions(
        bind, port, leader, tokens, proxies, tls, List.copyOf(others), maxStreams);
  }
}
