package io.tapline.control.cli.options;

import io.tapline.control.access.TokenFile;
import io.tapline.control.cli.console.UsageException;
import io.tapline.control.rest.RestOptions;
import io.tapline.control.rest.TrustedProxies;
import io.tapline.flink.TlsFiles;
import java.io.IOException;
import java.net.InetAddress;
import java.net.UnknownHostException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import picocli.CommandLine.Option;

/** Options for the REST server: its address, tokens and trusted proxies. */
public final class ListenOptions {
  private static final int HIGHEST_PORT = 65_535;

  @Option(
      names = "--port",
      paramLabel = "PORT",
      defaultValue = "8480",
      description =
          "TCP port of REST and the dashboard; 0 selects a free port. Default: ${DEFAULT-VALUE}.")
  private int port;

  @Option(
      names = "--address",
      paramLabel = "ADDRESS",
      defaultValue = RestOptions.LOOPBACK,
      description =
          "Address to listen on for REST. One that other hosts can reach requires --tokens and --tls rest. Default: ${DEFAULT-VALUE}.")
  private String address;

  @Option(
      names = "--tokens",
      paramLabel = "FILE",
      description =
          "YAML file of tokens (tapline token): requests without one are rejected. Read again when it changes. Default: none, and other users of this host are rejected.")
  private Path tokens;

  @Option(
      names = "--trusted-proxy",
      paramLabel = "ADDRESS",
      split = ",",
      description =
          "Proxy in front of the server: an address, a network (10.0.2.0/24) or a name. The audit log records its clients from X-Forwarded-For.")
  private List<String> proxies = new ArrayList<>();

  /** Throws usage errors; called before anything is started. */
  public void check(TlsOptions tls) {
    if (port < 0 || port > HIGHEST_PORT) {
      throw new UsageException(
          "--port " + port + ": a port must be a number from 0 to " + HIGHEST_PORT);
    }
    boolean isOpen = !at().isLoopbackAddress();
    if (isOpen && (tokens == null || tls.of(TlsOptions.Service.REST).isEmpty())) {
      throw new UsageException(
          "--address %s: other hosts can reach it; it requires --tokens FILE and --tls rest"
              .formatted(address));
    }
    trusted();
    ListeningPort.requireFree(at(), port);
  }

  private TrustedProxies trusted() {
    try {
      return TrustedProxies.of(proxies);
    } catch (IllegalArgumentException e) {
      throw new UsageException("--trusted-proxy: " + e.getMessage());
    }
  }

  private InetAddress at() {
    try {
      return InetAddress.getByName(address);
    } catch (UnknownHostException e) {
      throw new UsageException(
          "--address " + address + ": the name cannot be resolved; use an address of this host");
    }
  }

  /**
   * Returns the settings of the REST server; reads the token file.
   *
   * @param names names of this host in the URLs that clients use
   */
  public RestOptions rest(TlsOptions tls, List<String> names) {
    Optional<TlsFiles> own = tls.of(TlsOptions.Service.REST);
    RestOptions options = RestOptions.at(address, port).named(names).behind(trusted());
    options = own.isPresent() ? options.with(own.get()) : options;
    if (tokens == null) {
      return options;
    }
    try {
      return options.with(new TokenFile(tokens));
    } catch (IOException e) {
      throw new UsageException("--tokens: " + e.getMessage());
    }
  }

  /** Returns the URL at the listening address. */
  public String url(int actualPort, TlsOptions tls) {
    String host = address.contains(":") ? "[" + address + "]" : address;
    String scheme = tls.of(TlsOptions.Service.REST).isPresent() ? "https" : "http";
    return scheme + "://" + host + ":" + actualPort;
  }
}
