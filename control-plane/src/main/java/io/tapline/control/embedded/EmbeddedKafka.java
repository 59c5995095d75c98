package io.tapline.control.embedded;

import io.tapline.control.JobKey;
import io.tapline.flink.KafkaClients;
import io.tapline.flink.KafkaEndpoint;
import io.tapline.flink.Login;
import io.tapline.flink.SaslMechanism;
import io.tapline.flink.TlsFiles;
import java.io.IOException;
import java.io.OutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;
import java.util.function.Consumer;
import kafka.server.KafkaConfig;
import kafka.server.KafkaRaftServer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.Producer;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.serialization.ByteArraySerializer;
import org.apache.kafka.common.utils.Time;
import org.apache.kafka.metadata.storage.Formatter;
import org.apache.kafka.server.common.MetadataVersion;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A Kafka broker that is also the KRaft controller, within this process, on free loopback ports
 * and, if other hosts have to reach it, on a port of another address of this host. Every listener
 * requires a login and an authorizer enforces ACLs, unless the broker was started open.
 */
public final class EmbeddedKafka implements AutoCloseable {
  private static final Logger LOG = LoggerFactory.getLogger(EmbeddedKafka.class);
  private static final int NODE = 1;
  private static final int ATTEMPTS = 3;

  /** Size limit of the metadata log: Kafka's minimum segment size. */
  private static final int METADATA_BYTES = 8 << 20;

  /** Time to wait for the broker to get its producer IDs, which takes about 10 ms. */
  private static final long FIRST_PRODUCER_MS = 1000;

  private final KafkaRaftServer server;
  private final Optional<TemporaryFolder> memory;
  private final Optional<BrokerUsers> users;
  private final int port;
  private final String hostBrokers;
  private final Consumer<String> onFailure;
  private final Thread firstProducer = new Thread(this::produceEmpty, "first-producer");

  /**
   * The proxy between the broker and clients on other hosts.
   *
   * @param port advertised port; 0 for the broker's port
   * @param responseBytes maximum bytes per fetch response; 0 for Kafka's default
   */
  record ProxyOptions(int port, int responseBytes) {
    static final ProxyOptions NOTHING = new ProxyOptions(0, 0);

    private void addTo(Map<String, String> settings, String address, int own) {
      if (port > 0) {
        String advertised = settings.get("advertised.listeners");
        settings.put(
            "advertised.listeners", advertised.replace(address + ":" + own, address + ":" + port));
      }
      if (responseBytes > 0) {
        settings.put("fetch.max.bytes", Integer.toString(responseBytes));
      }
    }
  }

  private EmbeddedKafka(
      KafkaRaftServer server,
      Optional<TemporaryFolder> memory,
      Optional<BrokerUsers> users,
      int port,
      String hostBrokers,
      Consumer<String> onFailure) {
    this.server = server;
    this.memory = memory;
    this.users = users;
    this.port = port;
    this.hostBrokers = hostBrokers;
    this.onFailure = onFailure;
  }

  /**
   * Formats a log folder below {@code folder} and starts the broker; returns when it accepts
   * clients. Retries with other ports, since another process may have taken a chosen one.
   *
   * @param address address at which other hosts reach the broker; empty if none do
   * @param onFailure receives the reason if the broker fails
   */
  public static EmbeddedKafka start(Path folder, String address, Consumer<String> onFailure)
      throws IOException {
    return start(
        folder, address, ProxyOptions.NOTHING, Optional.of(BrokerUsers.random()), onFailure);
  }

  /** Starts a broker that can store users, as a cluster's brokers do. Used in tests. */
  public static EmbeddedKafka startWithScram(Path folder) throws IOException {
    BrokerUsers users = BrokerUsers.random().withScram();
    return start(folder, "", ProxyOptions.NOTHING, Optional.of(users), reason -> {});
  }

  /** Starts a broker behind a proxy, open to every client that can reach it. Used in tests. */
  static EmbeddedKafka startOpen(Path folder, String address, ProxyOptions proxy)
      throws IOException {
    return start(folder, address, proxy, Optional.empty(), reason -> {});
  }

  private static EmbeddedKafka start(
      Path folder,
      String address,
      ProxyOptions proxy,
      Optional<BrokerUsers> users,
      Consumer<String> onFailure)
      throws IOException {
    BrokerExit.listen(onFailure);
    Optional<TemporaryFolder> memory = TemporaryFolder.createInMemory();
    for (int attempt = 1; ; attempt++) {
      try {
        Path logs = folder.resolve("kafka-" + attempt);
        EmbeddedKafka kafka = startOnce(logs, memory, address, proxy, users, onFailure);
        kafka.firstProducer.setDaemon(true);
        kafka.firstProducer.start();
        return kafka;
      } catch (Exception e) {
        if (attempt == ATTEMPTS) {
          BrokerExit.forget(onFailure);
          removeQuietly(memory);
          throw new IOException("can't start the embedded Kafka broker: " + e.getMessage(), e);
        }
      }
    }
  }

  private static EmbeddedKafka startOnce(
      Path logs,
      Optional<TemporaryFolder> memory,
      String address,
      ProxyOptions proxy,
      Optional<BrokerUsers> users,
      Consumer<String> onFailure)
      throws Exception {
    int[] ports = Ports.free(3);
    Path metadata = memory.map(mount -> mount.path().resolve(logs.getFileName())).orElse(logs);
    format(logs, metadata);
    Map<String, String> settings = settings(logs, ports, address);
    settings.put("metadata.log.dir", metadata.toString());
    users.ifPresent(closed -> closed.addTo(settings));
    proxy.addTo(settings, address, ports[2]);
    KafkaRaftServer server = new KafkaRaftServer(new KafkaConfig(settings, false), Time.SYSTEM);
    try {
      server.startup();
    } catch (Exception e) {
      server.shutdown();
      throw e;
    }
    String hostBrokers = address.isEmpty() ? "" : address + ":" + ports[2];
    return new EmbeddedKafka(server, memory, users, ports[0], hostBrokers, onFailure);
  }

  /**
   * Makes the broker fetch producer IDs from its controller, which it otherwise does when the first
   * producer asks for one. That producer would have to retry, and a monitor does so after half a
   * second.
   */
  private void produceEmpty() {
    Map<String, Object> settings = KafkaClients.settings(endpoint());
    try (Producer<byte[], byte[]> producer =
        new KafkaProducer<>(settings, new ByteArraySerializer(), new ByteArraySerializer())) {
      Thread.sleep(FIRST_PRODUCER_MS);
    } catch (KafkaException e) {
      LOG.info("can't create a producer to reserve the first IDs: {}", e.toString());
    } catch (InterruptedException closed) {
      Thread.currentThread().interrupt();
    }
  }

  private static void format(Path logs, Path metadata) throws Exception {
    new Formatter()
        .setClusterId(Uuid.randomUuid().toString())
        .setNodeId(NODE)
        .setControllerListenerName("CONTROLLER")
        .setMetadataLogDirectory(metadata.toString())
        .addDirectory(metadata.toString())
        .addDirectory(logs.toString())
        .setReleaseVersion(MetadataVersion.LATEST_PRODUCTION)
        .setPrintStream(
            new PrintStream(OutputStream.nullOutputStream(), false, StandardCharsets.UTF_8))
        .run();
  }

  private static Map<String, String> settings(Path logs, int[] ports, String address) {
    Map<String, String> settings = new HashMap<>();
    settings.put("process.roles", "broker,controller");
    settings.put("node.id", Integer.toString(NODE));
    settings.put("controller.quorum.voters", NODE + "@127.0.0.1:" + ports[1]);
    settings.put("controller.listener.names", "CONTROLLER");
    settings.put(
        "listener.security.protocol.map", "CONTROLLER:PLAINTEXT,CLIENTS:PLAINTEXT,HOSTS:PLAINTEXT");
    String clients = "CLIENTS://127.0.0.1:" + ports[0];
    if (!address.isEmpty()) {
      clients += ",HOSTS://" + address + ":" + ports[2];
    }
    settings.put("listeners", clients + ",CONTROLLER://127.0.0.1:" + ports[1]);
    settings.put("advertised.listeners", clients);
    settings.put("inter.broker.listener.name", "CLIENTS");
    settings.put("log.dirs", logs.toString());
    settings.put("auto.create.topics.enable", "false");
    settings.put("offsets.topic.num.partitions", "1");
    settings.put("offsets.topic.replication.factor", "1");
    settings.put("group.initial.rebalance.delay.ms", "0");
    settings.put("num.network.threads", "1");
    settings.put("num.io.threads", "2");
    settings.put("num.replica.alter.log.dirs.threads", "1");
    settings.put("num.recovery.threads.per.data.dir", "1");
    settings.put("background.threads", "1");
    // Tapline's clients use neither groups nor transactions.
    settings.put("group.coordinator.threads", "1");
    settings.put("group.coordinator.background.threads", "1");
    settings.put("transaction.state.log.num.partitions", "1");
    settings.put("share.coordinator.state.topic.num.partitions", "1");
    // The metrics are not read, and registering each with JMX takes a twentieth of the startup
    // time.
    settings.put("metric.reporters", "");
    settings.put("metrics.jmx.exclude", ".*");
    addMetadataLog(settings);
    settings.put("controlled.shutdown.enable", "false");
    settings.put("log.cleaner.enable", "false");
    // Index files are allocated in full, two per segment.
    settings.put("log.index.size.max.bytes", Integer.toString(1 << 20));
    // Deletes the files of a topic immediately: ended queries must not fill the disk for another
    // minute.
    settings.put("log.segment.delete.delay.ms", "0");
    // Enforces the retention limit of a topic soon after it is exceeded.
    settings.put("log.retention.check.interval.ms", "5000");
    settings.put("message.max.bytes", Integer.toString(4 << 20));
    return settings;
  }

  /**
   * Adds settings to write metadata immediately and to limit its log: a single, short-lived broker
   * has little metadata.
   */
  private static void addMetadataLog(Map<String, String> settings) {
    settings.put("controller.quorum.append.linger.ms", "0");
    settings.put("metadata.max.idle.interval.ms", "0");
    String bytes = Integer.toString(METADATA_BYTES);
    settings.put("metadata.log.segment.bytes", bytes);
    settings.put("metadata.max.retention.bytes", bytes);
    settings.put("metadata.log.max.record.bytes.between.snapshots", bytes);
  }

  /** Returns the address for other hosts; empty if none can reach it. */
  public String hostBrokers() {
    return hostBrokers;
  }

  /** Returns the address for this process, with a login that may do anything. */
  public KafkaEndpoint endpoint() {
    Login control = users.map(BrokerUsers::control).orElse(Login.NONE);
    return new KafkaEndpoint("127.0.0.1:" + port, TlsFiles.NONE, control, SaslMechanism.PLAIN);
  }

  /** Returns the login of monitors on this host, which may do only what their ACLs allow. */
  public Login monitorLogin() {
    return users.map(BrokerUsers::monitor).orElse(Login.NONE);
  }

  /**
   * Returns the key from which the passwords of jobs and of monitors on hosts are derived; empty if
   * the broker is open.
   */
  public Optional<JobKey> key() {
    return users.map(BrokerUsers::key);
  }

  @Override
  public void close() {
    firstProducer.interrupt();
    BrokerExit.forget(onFailure);
    server.shutdown();
    server.awaitShutdown();
    removeQuietly(memory);
  }

  /**
   * Removes the broker's files in memory, and leaves the rest to the exit of this process.
   * REQUIRES: the process is about to exit.
   */
  void abandon() {
    BrokerExit.forget(onFailure);
    removeQuietly(memory);
  }

  private static void removeQuietly(Optional<TemporaryFolder> folder) {
    folder.ifPresent(
        directory -> {
          try {
            directory.close();
          } catch (IOException e) {
            LOG.warn("can't remove {}: {}", directory.path(), e.toString());
          }
        });
  }
}
