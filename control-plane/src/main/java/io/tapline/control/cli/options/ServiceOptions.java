package io.tapline.control.cli.options;

import io.tapline.compiler.Inventory;
import io.tapline.compiler.catalogue.Catalogue;
import io.tapline.control.HashKeys;
import io.tapline.control.JobKey;
import io.tapline.control.PipelineException;
import io.tapline.control.cli.console.Console;
import io.tapline.control.cli.console.UsageException;
import io.tapline.control.embedded.EmbeddedOptions;
import io.tapline.control.probe.Address;
import io.tapline.control.probe.ServerCheck;
import io.tapline.control.query.services.TopicPolicy;
import io.tapline.flink.KafkaEndpoint;
import io.tapline.flink.Login;
import io.tapline.flink.RedisEndpoint;
import io.tapline.flink.TlsFiles;
import io.tapline.network.Network;
import io.tapline.schema.RedisAcl;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

/** Options for external services that replace the embedded ones. */
public final class ServiceOptions {
  @Option(
      names = "--brokers",
      paramLabel = "HOST:PORT",
      defaultValue = "",
      description = "Use this Kafka broker instead of an embedded one.")
  private String brokers = "";

  @Option(
      names = "--job-brokers",
      paramLabel = "HOST:PORT",
      defaultValue = "",
      description =
          "Address at which stream jobs reach the brokers of --brokers: a listener with SCRAM-SHA-256 logins, one user per job. Default: --brokers, without a login.")
  private String jobBrokers = "";

  @Option(
      names = "--redis",
      paramLabel = "HOST:PORT",
      defaultValue = "",
      description =
          "Use this Redis instead of an embedded redis-server: HOST:PORT, or unix:/PATH of its socket.")
  private String redis = "";

  @Option(
      names = "--redis-user",
      paramLabel = "NAME",
      defaultValue = RedisAcl.CONTROL,
      description =
          "This server's user at that Redis, with --redis-password-file. Default: ${DEFAULT-VALUE}.")
  private String redisUser = RedisAcl.CONTROL;

  @Option(
      names = "--redis-password-file",
      paramLabel = "FILE",
      description =
          "File with the password of that user. Each query's job then has a separate user, limited to the keys of its query. Default: no login.")
  private Path redisPassword;

  @Option(
      names = "--keep-topic",
      paramLabel = "DURATION",
      defaultValue = "0s",
      description =
          "Time to keep a query's topic after the query's end, such as 10m. Default: ${DEFAULT-VALUE}.")
  private String keepTopic = "0s";

  @Option(
      names = "--topic-mb",
      paramLabel = "MIB",
      defaultValue = "1024",
      description =
          "Max MiB that a partition keeps for a query without an end. Default: ${DEFAULT-VALUE}.")
  private int topicMb = 1024;

  @Option(
      names = "--flink",
      paramLabel = "URL",
      description =
          "Use this Flink session cluster, http://HOST:PORT (https with --tls flink), instead of an embedded one. Repeat for several: each query's job runs in the one nearest to its monitors in the inventory's network.")
  private List<String> flink = List.of();

  @Option(
      names = "--flink-checkpoints",
      paramLabel = "URI",
      defaultValue = "",
      description =
          "Folder for the checkpoints of those clusters, shared by all of their hosts. Default: the memory of each job manager.")
  private String checkpoints = "";

  public List<String> flink() {
    for (String address : flink) {
      if (!address.matches("https?://[^/?#]+/?")) {
        throw new UsageException("--flink '" + address + "' is not http://HOST:PORT");
      }
    }
    return flink.stream().distinct().toList();
  }

  public String checkpoints() {
    if (!checkpoints.isEmpty() && flink.isEmpty()) {
      throw new UsageException("--flink-checkpoints requires --flink");
    }
    if (!checkpoints.isEmpty() && !checkpoints.matches("[a-z0-9]+:/.+")) {
      throw new UsageException(
          "--flink-checkpoints '"
              + checkpoints
              + "' is not a URI such as file:///shared/checkpoints");
    }
    return checkpoints;
  }

  @Mixin private JobKeyOptions jobKey = new JobKeyOptions();

  private String address = "";
  private TlsFiles kafkaTls = TlsFiles.NONE;
  private TlsFiles redisTls = TlsFiles.NONE;
  private TlsFiles flinkTls = TlsFiles.NONE;

  public TopicPolicy topics() {
    if (topicMb < 4) {
      throw new UsageException("--topic-mb " + topicMb + ": give at least 4");
    }
    Duration kept = Duration.ofNanos(Moment.duration("--keep-topic", keepTopic));
    return TopicPolicy.of(kept, (long) topicMb << 20);
  }

  /** Sets the address of this host at which other hosts' monitors reach an embedded broker. */
  public void reachedAt(String hostAddress) {
    address = hostAddress;
  }

  public String address() {
    return address;
  }

  public String brokers() {
    return brokers;
  }

  /** Returns the brokers of --brokers, if any. REQUIRES: {@link #speakTls} was called. */
  public Optional<KafkaEndpoint> kafka() {
    return brokers.isEmpty()
        ? Optional.empty()
        : Optional.of(new KafkaEndpoint(brokers, kafkaTls, Login.NONE));
  }

  private static void requireAddresses(String option, String brokers) {
    try {
      if (!brokers.isEmpty()) {
        Address.list(brokers);
      }
    } catch (IllegalArgumentException e) {
      throw new UsageException(option + ": " + e.getMessage());
    }
  }

  /** Returns the addresses of the brokers that jobs log in to; empty if jobs do not log in. */
  public String jobBrokers() {
    if (!jobBrokers.isEmpty() && brokers.isEmpty()) {
      throw new UsageException("--job-brokers requires --brokers");
    }
    return jobBrokers;
  }

  /** Returns the key in the file of --job-key-file, or a random one. */
  public JobKey jobKey(Console console) {
    return jobKey.read(console).orElseGet(JobKey::random);
  }

  /** Throws a usage error if another control plane could not resume jobs that log in. */
  void checkShared() {
    if ((!jobBrokers.isEmpty() || redisPassword != null) && !jobKey.isGiven()) {
      throw new UsageException(
          "--zookeeper with %s needs --job-key-file: a control plane that takes over must know the passwords of jobs"
              .formatted(jobBrokers.isEmpty() ? "--redis-password-file" : "--job-brokers"));
    }
  }

  /** Sets the TLS files for external brokers, Redis and Flink; checks the brokers' addresses. */
  public void speakTls(TlsOptions tls) {
    requireAddresses("--brokers", brokers);
    requireAddresses("--job-brokers", jobBrokers);
    Optional<TlsFiles> withKafka = tls.of(TlsOptions.Service.KAFKA);
    Optional<TlsFiles> withRedis = tls.of(TlsOptions.Service.REDIS);
    Optional<TlsFiles> withFlink = tls.of(TlsOptions.Service.FLINK);
    if (withKafka.isPresent() && brokers.isEmpty()) {
      throw new UsageException(
          "--tls kafka requires --brokers: the embedded broker does not use TLS");
    }
    kafkaTls = withKafka.orElse(TlsFiles.NONE);
    if (withRedis.isPresent() && redis.isEmpty()) {
      throw new UsageException(
          "--tls redis requires --redis: the embedded Redis listens on a Unix socket");
    }
    if (withRedis.isPresent() && redis.startsWith("unix:")) {
      throw new UsageException("--tls redis requires --redis HOST:PORT; a Unix socket has no TLS");
    }
    redisTls = withRedis.orElse(TlsFiles.NONE);
    boolean overTls =
        !flink.isEmpty() && flink.stream().allMatch(address -> address.startsWith("https://"));
    if (withFlink.isPresent() && !overTls) {
      throw new UsageException("--tls flink requires --flink https://HOST:PORT");
    }
    flinkTls = withFlink.orElse(TlsFiles.NONE);
  }

  /**
   * Throws a usage error if a connection to another host would be unencrypted and --clear does not
   * permit it. REQUIRES: {@link #speakTls} was called.
   */
  public void check(ClearOptions clear) {
    if (kafkaTls.isNone()) {
      clear.check(
          ClearOptions.Service.KAFKA,
          Loopback.hosts(brokers),
          "--brokers " + brokers,
          "--tls kafka with --tls-certificate, --tls-key and --tls-ca");
      clear.check(
          ClearOptions.Service.KAFKA,
          Loopback.hosts(jobBrokers()),
          "--job-brokers " + jobBrokers,
          "--tls kafka with --tls-certificate, --tls-key and --tls-ca");
      clear.check(
          ClearOptions.Service.KAFKA,
          Loopback.hosts(address),
          "the embedded broker, for agents' monitors at " + address,
          "--brokers with a broker that uses TLS, --tls kafka with --tls-certificate, --tls-key and --tls-ca");
    }
    if (redisTls.isNone() && !redis.startsWith("unix:")) {
      clear.check(
          ClearOptions.Service.REDIS,
          Loopback.hosts(redis),
          "--redis " + redis,
          "--tls redis with --tls-certificate, --tls-key and --tls-ca");
    }
    for (String url : flink()) {
      if (url.startsWith("http://")) {
        clear.check(
            ClearOptions.Service.FLINK,
            List.of(Loopback.hostOf(url)),
            "--flink " + url,
            "https://, --tls flink with --tls-certificate, --tls-key and --tls-ca");
      }
    }
  }

  public TlsFiles kafkaTls() {
    return kafkaTls;
  }

  public TlsFiles flinkTls() {
    return flinkTls;
  }

  /** Returns the Redis server of --redis, if any. REQUIRES: {@link #speakTls} was called. */
  public Optional<RedisEndpoint> redis(Console console) {
    if (redis.isEmpty()) {
      if (redisPassword != null) {
        throw new UsageException(
            "--redis-password-file requires --redis: the embedded Redis has a generated password");
      }
      return Optional.empty();
    }
    try {
      RedisEndpoint endpoint = RedisEndpoint.parse(redis).withTls(redisTls);
      return Optional.of(
          redisPassword == null
              ? endpoint
              : endpoint.withLogin(new Login(redisUser, redisPassword(console))));
    } catch (IllegalArgumentException e) {
      throw new UsageException("--redis: " + e.getMessage());
    }
  }

  private String redisPassword(Console console) {
    try {
      String password = Files.readString(redisPassword).strip();
      if (!password.matches("\\S+")) {
        throw new UsageException(
            "--redis-password-file "
                + redisPassword
                + ": the file must contain one word, the password");
      }
      if (HashKeys.isOpenToAll(redisPassword)) {
        console.hint(
            "warning: --redis-password-file %s: every user of this host can read it; fix this with chmod o-r"
                .formatted(redisPassword));
      }
      return password;
    } catch (IOException e) {
      throw new UsageException(
          "--redis-password-file " + redisPassword + ": can't be read; does it exist?");
    }
  }

  /**
   * Returns the settings of a pipeline on these services, after checking that Kafka and Redis are
   * reachable.
   *
   * @param installation installation with its plug-ins
   * @param network the inventory's network, in which queries are placed
   * @param hashKeys hash keys of the monitors that the pipeline starts
   * @param maxQueries maximum number of concurrent queries
   */
  public EmbeddedOptions pipeline(
      Console console,
      Installation installation,
      Inventory inventory,
      Optional<Network> network,
      HashKeys hashKeys,
      int maxQueries)
      throws PipelineException {
    Catalogue catalogue = installation.catalogue();
    Installation.requireTexts(inventory, catalogue);
    Optional<RedisEndpoint> endpoint = redis(console);
    ServerCheck.require(kafka(), endpoint);
    return new EmbeddedOptions(
        installation.monitor(),
        installation.plugins(),
        catalogue,
        inventory,
        network,
        brokers(),
        jobBrokers(),
        kafkaTls,
        address(),
        endpoint,
        flink(),
        flinkTls,
        checkpoints(),
        topics(),
        hashKeys,
        jobKey(console),
        maxQueries);
  }

  /**
   * Returns true if all services are external, so that queries and their jobs outlive this process.
   */
  boolean areOthers() {
    return !brokers.isEmpty() && !redis.isEmpty() && !flink.isEmpty();
  }
}
