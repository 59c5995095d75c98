package io.tapline.control.cli.options;

import io.tapline.control.cli.console.UsageException;
import io.tapline.control.registry.AgentAccess;
import io.tapline.flink.TlsFiles;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import picocli.CommandLine.Option;

/** Options for the agents that a server accepts. */
public final class AgentOptions {
  /** Minimum grace period: a lease is renewed or lost within three seconds. */
  private static final Duration MIN_GRACE = Duration.ofSeconds(5);

  private static final Duration MAX_GRACE = Duration.ofDays(1);

  @Option(
      names = "--agents-tls-certificate",
      paramLabel = "FILE",
      description = "This host's certificate (PEM). If given, agents must use TLS.")
  private Path certificate;

  @Option(names = "--agents-tls-key", paramLabel = "FILE", description = "Its key (PEM).")
  private Path key;

  @Option(
      names = "--agents-client-ca",
      paramLabel = "FILE",
      description =
          "Accept only agents with a certificate that these authorities (PEM) signed and whose subject (CN) or DNS name is the agent's name.")
  private Path clients;

  @Option(
      names = "--agents-token-file",
      paramLabel = "FILE",
      description = "Accept only agents with one of these tokens, one per line.")
  private Path tokens;

  @Option(
      names = "--agents-grace",
      paramLabel = "DURATION",
      defaultValue = "20s",
      description =
          "How long hosts continue their queries without a control plane, and how long the server waits for a host that can't be replaced. Default: ${DEFAULT-VALUE}.")
  private String grace = "20s";

  /**
   * Returns the grace period: how long the registry and its agents wait for each other.
   *
   * @throws UsageException if the option is not a duration from 5 s to 24 h
   */
  public Duration grace() {
    Duration value = Duration.ofNanos(Moment.duration("--agents-grace", grace));
    if (value.compareTo(MIN_GRACE) < 0 || value.compareTo(MAX_GRACE) > 0) {
      throw new UsageException("--agents-grace " + grace + ": must be from 5s to 24h");
    }
    return value;
  }

  /**
   * Throws a usage error if other hosts could get leases without a token or a certificate, or could
   * read lease messages in transit, unless --clear permits it.
   *
   * @param option value of --agents, HOST:PORT
   */
  public void check(ClearOptions clear, String option) {
    if (certificate == null || tokens == null && clients == null) {
      clear.check(
          ClearOptions.Service.AGENTS,
          Loopback.hosts(option),
          "--agents " + option,
          "--agents-tls-certificate, --agents-tls-key and --agents-token-file or --agents-client-ca");
    }
  }

  /**
   * Returns the conditions for access; reads the files that the options name.
   *
   * @throws UsageException if the options contradict each other, or a file can't be read
   */
  public AgentAccess access() {
    if ((certificate == null) != (key == null)) {
      throw new UsageException("--agents-tls-certificate and --agents-tls-key require each other");
    }
    if (certificate == null && tokens != null) {
      throw new UsageException(
          "--agents-token-file needs --agents-tls-certificate and --agents-tls-key: a token must not be sent unencrypted");
    }
    if (certificate == null && clients != null) {
      throw new UsageException(
          "--agents-client-ca needs --agents-tls-certificate and --agents-tls-key: certificates are presented only over TLS");
    }
    if (certificate == null) {
      return AgentAccess.OPEN;
    }
    String authorities = clients == null ? "" : clients.toString();
    try {
      return AgentAccess.tls(
          new TlsFiles(authorities, certificate.toString(), key.toString()), tokens);
    } catch (IOException e) {
      throw new UsageException(
          "--agents-tls-…, --agents-client-ca, --agents-token-file: " + e.getMessage());
    }
  }
}
