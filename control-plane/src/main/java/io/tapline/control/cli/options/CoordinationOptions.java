package io.tapline.control.cli.options;

import io.tapline.control.PipelineException;
import io.tapline.control.cli.console.UsageException;
import io.tapline.control.coordination.Leadership;
import io.tapline.flink.TlsFiles;
import java.net.URI;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import javax.security.auth.x500.X500Principal;
import picocli.CommandLine.Option;

/** Options for a control plane that runs alongside others, one of which leads. */
public final class CoordinationOptions {
  @Option(
      names = "--zookeeper",
      paramLabel = "HOST:PORT,…",
      defaultValue = "",
      description =
          "Keep queries in this ZooKeeper: one of its control planes leads, and another takes over its queries if it crashes. Requires --agents, --brokers, --redis and --flink.")
  private String zookeeper = "";

  @Option(
      names = "--zookeeper-session",
      paramLabel = "DURATION",
      defaultValue = "6s",
      description =
          "Time after which a silent control plane loses leadership. Default: ${DEFAULT-VALUE}.")
  private String session = "6s";

  @Option(
      names = "--advertised-url",
      paramLabel = "URL",
      defaultValue = "",
      description =
          "URL to which the others redirect requests while this one leads. Default: the listening address.")
  private String url = "";

  @Option(
      names = "--zookeeper-creator",
      paramLabel = "SUBJECT",
      description =
          "Restrict the root of ZooKeeper with --tls zookeeper: apart from the control planes, only certificates of this subject, such as CN=flink, may create nodes there; repeat for several.")
  private List<String> creators = new ArrayList<>();

  private TlsFiles tls = TlsFiles.NONE;

  public void speakTls(Optional<TlsFiles> withZooKeeper) {
    if (withZooKeeper.isPresent() && zookeeper.isEmpty()) {
      throw new UsageException("--tls zookeeper requires --zookeeper");
    }
    if (withZooKeeper.isEmpty() && !creators.isEmpty()) {
      throw new UsageException("--zookeeper-creator requires --tls zookeeper");
    }
    for (String subject : creators) {
      checkSubject(subject);
    }
    tls = withZooKeeper.orElse(TlsFiles.NONE);
  }

  /**
   * Checks a subject's spelling: ZooKeeper compares subjects as strings, so another spelling would
   * match no certificate.
   */
  private static void checkSubject(String subject) {
    try {
      String spelled = new X500Principal(subject).getName();
      if (!spelled.equals(subject)) {
        throw new UsageException(
            "--zookeeper-creator '" + subject + "' is spelled '" + spelled + "' in ZooKeeper");
      }
    } catch (IllegalArgumentException e) {
      throw new UsageException(
          "--zookeeper-creator '"
              + subject
              + "' is not a subject of a certificate, such as CN=flink");
    }
  }

  public boolean isWanted() {
    return !zookeeper.isEmpty();
  }

  /** Checks the options before anything is started; throws usage errors. */
  public void check(boolean agents, ServiceOptions services) {
    if (!url.isEmpty() && !url.matches("https?://[^/?#]+")) {
      throw new UsageException("--advertised-url '" + url + "' is not http://HOST:PORT");
    }
    Moment.duration("--zookeeper-session", session);
    if (!isWanted()) {
      return;
    }
    if (!zookeeper.matches("[^,:/]+:\\d{1,5}(,[^,:/]+:\\d{1,5})*(/.+)?")) {
      throw new UsageException("--zookeeper '" + zookeeper + "' is not HOST:PORT,HOST:PORT…");
    }
    if (!agents || !services.areOthers()) {
      throw new UsageException(
          "--zookeeper requires --agents, --brokers, --redis and --flink: the services of queries must outlive this server");
    }
    services.checkShared();
  }

  /**
   * Throws a usage error if the connection would be unencrypted and --clear does not permit it.
   * REQUIRES: {@link #speakTls} was called.
   */
  public void check(ClearOptions clear) {
    if (tls.isNone()) {
      clear.check(
          ClearOptions.Service.ZOOKEEPER,
          Loopback.hosts(zookeeper.replaceFirst("/.*", "")),
          "--zookeeper " + zookeeper,
          "--tls zookeeper with --tls-certificate, --tls-key and --tls-ca");
    }
  }

  /** Connects to ZooKeeper; returns null without --zookeeper. */
  public Leadership connect() throws PipelineException {
    return isWanted()
        ? Leadership.connect(
            zookeeper,
            Duration.ofNanos(Moment.duration("--zookeeper-session", session)),
            tls,
            creators)
        : null;
  }

  /**
   * Returns the URL at which other control planes reach this one.
   *
   * @param listening URL of the listening address, the default
   */
  public String url(String listening) {
    return url.isEmpty() ? listening : url;
  }

  /** Returns the host of the advertised URL; empty if none was given. */
  public List<String> advertisedHost() {
    return url.isEmpty() ? List.of() : List.of(URI.create(url).getHost());
  }
}
