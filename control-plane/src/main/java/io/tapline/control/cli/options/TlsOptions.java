package io.tapline.control.cli.options;

import io.tapline.control.cli.console.UsageException;
import io.tapline.flink.TlsFiles;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.Set;
import javax.net.ssl.SSLContext;
import picocli.CommandLine.Option;

/** Options for a server's TLS certificate and trusted authorities. */
public final class TlsOptions {
  /** The peer of a connection. */
  public enum Service {
    /** REST clients: users' commands and browsers, which present tokens. */
    REST,
    /** Switches, which must also present a certificate. */
    OPENFLOW,
    /** The brokers of --brokers, including connections of jobs and monitors. */
    KAFKA,
    /** The Redis server of --redis, including connections of jobs. */
    REDIS,
    /** The ZooKeeper servers of --zookeeper. */
    ZOOKEEPER,
    /** The REST interface of the job managers given by --flink. */
    FLINK;

    @Override
    public String toString() {
      return name().toLowerCase(Locale.ROOT);
    }
  }

  @Option(
      names = "--tls",
      paramLabel = "SERVICE",
      split = ",",
      description =
          "Services that require TLS: ${COMPLETION-CANDIDATES}. Requires the three files.")
  private List<Service> services = new ArrayList<>();

  @Option(
      names = "--tls-certificate",
      paramLabel = "FILE",
      description = "This server's certificate and its chain, as PEM.")
  private Path certificate;

  @Option(
      names = "--tls-key",
      paramLabel = "FILE",
      description = "The certificate's private key, as PEM (PKCS #8, without a password).")
  private Path key;

  @Option(
      names = "--tls-ca",
      paramLabel = "FILE",
      description = "Certificate authorities (PEM) that signed the certificates of those services.")
  private Path authorities;

  /** Throws usage errors; called before anything is started. */
  public void check() {
    boolean complete = certificate != null && key != null && authorities != null;
    boolean some = certificate != null || key != null || authorities != null;
    if (services.isEmpty() ? some : !complete) {
      throw new UsageException(
          "--tls, --tls-certificate, --tls-key and --tls-ca require each other");
    }
    if (!services.isEmpty()) {
      try {
        files().context();
      } catch (IOException e) {
        throw new UsageException("--tls: " + e.getMessage());
      }
    }
  }

  /** Throws usage errors; for a command that uses only these services. */
  public void check(Set<Service> knownServices) {
    for (Service service : services) {
      if (!knownServices.contains(service)) {
        throw new UsageException("--tls " + service + ": this command does not use that service");
      }
    }
    check();
  }

  /**
   * Returns the files under absolute paths, since jobs read them, too, in other working folders.
   */
  private TlsFiles files() {
    return new TlsFiles(absolute(authorities), absolute(certificate), absolute(key));
  }

  private static String absolute(Path file) {
    return file.toAbsolutePath().toString();
  }

  /**
   * Returns the TLS context loaded from the files; empty if the service's connections are
   * unencrypted.
   *
   * @param clients authorities that sign clients' certificates; null for those of --tls-ca
   */
  Optional<SSLContext> context(Service service, Path clients) {
    if (!services.contains(service)) {
      return Optional.empty();
    }
    Path trusted = clients == null ? authorities : clients;
    try {
      return Optional.of(
          new TlsFiles(absolute(trusted), absolute(certificate), absolute(key)).context());
    } catch (IOException e) {
      throw new UsageException("--tls: " + e.getMessage());
    }
  }

  /** Returns the files; empty if the service's connections are unencrypted. */
  public Optional<TlsFiles> of(Service service) {
    return services.contains(service) ? Optional.of(files()) : Optional.empty();
  }
}
