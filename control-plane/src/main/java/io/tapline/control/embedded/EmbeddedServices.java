package io.tapline.control.embedded;

import io.tapline.flink.Endpoints;
import java.io.IOException;
import java.nio.file.Path;

/**
 * A broker, a Redis server and a folder, without Flink, for experiments that run their own jobs.
 */
public final class EmbeddedServices implements AutoCloseable {
  private final TemporaryFolder folder;
  private final EmbeddedKafka kafka;
  private final EmbeddedRedis redis;
  private final Thread hook = new Thread(this::closeAll, "services-shutdown");

  private EmbeddedServices(TemporaryFolder folder, EmbeddedKafka kafka, EmbeddedRedis redis) {
    this.folder = folder;
    this.kafka = kafka;
    this.redis = redis;
  }

  /** Starts the broker and Redis. Only the experiment's clients notice later failures. */
  public static EmbeddedServices start() throws IOException {
    return start(folder -> EmbeddedKafka.start(folder, "", reason -> {}));
  }

  /**
   * Starts the services with a broker that is open to every client, for tests that use it from
   * other processes.
   *
   * @param address address of this host at which other hosts reach the broker; empty if none do
   */
  public static EmbeddedServices startOpen(String address) throws IOException {
    return startOpen(address, EmbeddedKafka.ProxyOptions.NOTHING);
  }

  /**
   * Starts the services with a broker behind a proxy. The broker advertises the proxy's port to
   * clients on other hosts, and sends consumers one or two batches at a time.
   */
  public static EmbeddedServices startOpenBehind(String address, int port) throws IOException {
    return startOpen(address, new EmbeddedKafka.ProxyOptions(port, 4096));
  }

  private static EmbeddedServices startOpen(String address, EmbeddedKafka.ProxyOptions proxy)
      throws IOException {
    return start(folder -> EmbeddedKafka.startOpen(folder, address, proxy));
  }

  private interface BrokerStart {
    EmbeddedKafka below(Path folder) throws IOException;
  }

  private static EmbeddedServices start(BrokerStart broker) throws IOException {
    TemporaryFolder folder = TemporaryFolder.create();
    System.setProperty("java.io.tmpdir", folder.path().toString());
    EmbeddedRedis redis = EmbeddedRedis.startOpen(folder.path());
    try {
      EmbeddedKafka kafka = broker.below(folder.path());
      EmbeddedServices services = new EmbeddedServices(folder, kafka, redis);
      Runtime.getRuntime().addShutdownHook(services.hook);
      return services;
    } catch (IOException e) {
      redis.close();
      folder.close();
      throw e;
    }
  }

  public Endpoints endpoints() {
    return new Endpoints(kafka.endpoint(), redis.endpoint());
  }

  /** Returns the address at which other hosts reach the broker; empty if none do. */
  public String hostBrokers() {
    return kafka.hostBrokers();
  }

  public Path folder() {
    return folder.path();
  }

  private void closeAll() {
    kafka.close();
    redis.close();
    try {
      folder.close();
    } catch (IOException e) {
      System.err.println("files remain: " + e.getMessage());
    }
  }

  @Override
  public void close() {
    try {
      Runtime.getRuntime().removeShutdownHook(hook);
    } catch (IllegalStateException shuttingDown) {
      return; // The shutdown hook is already running.
    }
    closeAll();
  }
}
