package io.tapline.e2e;

import io.tapline.control.embedded.EmbeddedServices;
import io.tapline.control.testing.TestRedis;
import io.tapline.control.testing.TestZooKeeper;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.retry.RetryOneTime;

/**
 * The services that several control planes share: ZooKeeper, a broker, a Redis server with users,
 * and a Flink cluster of separate processes. All are real.
 */
final class Coordinated implements AutoCloseable {
  final FlinkCluster flink;
  private final EmbeddedServices services;
  private final TestRedis redis;
  private final Path folder;
  private final String brokers;
  private final String zooKeeper;
  private final AutoCloseable zooKeeperServers;

  /** Starts a Flink cluster. */
  interface Start {
    FlinkCluster in(Path folder) throws Exception;
  }

  /** Starts the services with a single ZooKeeper server. */
  Coordinated(Path folder) throws Exception {
    this(folder, FlinkCluster::new);
  }

  /** Starts the services with one ZooKeeper server and the given Flink cluster. */
  Coordinated(Path folder, Start flink) throws Exception {
    this(folder, new TestZooKeeper(Files.createDirectory(folder.resolve("zookeeper"))), flink);
  }

  private Coordinated(Path folder, TestZooKeeper one, Start flink) throws Exception {
    this(folder, "", one, one.address(), flink);
  }

  /**
   * Starts the services with three ZooKeeper servers.
   *
   * @param address address of this host at which other hosts reach the broker
   */
  Coordinated(Path folder, String address, ZooKeepers three) throws Exception {
    this(folder, address, three, three.addresses(), FlinkCluster::new);
  }

  private Coordinated(
      Path folder, String address, AutoCloseable servers, String zooKeeper, Start start)
      throws Exception {
    this.folder = folder;
    this.zooKeeperServers = servers;
    this.zooKeeper = zooKeeper;
    CompletableFuture<FlinkCluster> cluster =
        CompletableFuture.supplyAsync(
            () -> {
              try {
                return start.in(Files.createDirectory(folder.resolve("flink")));
              } catch (Exception e) {
                throw new IllegalStateException(e);
              }
            });
    services = EmbeddedServices.startOpen(address);
    redis = TestRedis.startWithUsers(folder);
    Files.writeString(folder.resolve("job.key"), "known-to-all-control-planes\n");
    brokers = address.isEmpty() ? services.endpoints().kafka().brokers() : services.hostBrokers();
    flink = cluster.join();
  }

  String zooKeeper() {
    return zooKeeper;
  }

  String brokers() {
    return brokers;
  }

  /** Returns the names of query records in ZooKeeper. */
  List<String> records() throws Exception {
    try (CuratorFramework client =
        CuratorFrameworkFactory.newClient(zooKeeper, new RetryOneTime(100))) {
      client.start();
      return client.getChildren().forPath("/tapline/queries");
    }
  }

  /** Returns a server's options. */
  List<String> options(String agents, String... more) {
    List<String> options =
        new ArrayList<>(
            List.of(
                "--zookeeper",
                zooKeeper(),
                "--zookeeper-session",
                "6s",
                "--agents",
                agents,
                "--brokers",
                brokers,
                "--redis",
                redis.address(),
                "--redis-password-file",
                folder.resolve("redis.password").toString(),
                "--job-key-file",
                folder.resolve("job.key").toString(),
                "--flink",
                flink.url()));
    options.addAll(List.of(more));
    return options;
  }

  /** Returns true if a server is the leader; followers redirect to the leader. */
  static boolean leads(Server server) throws Exception {
    HttpRequest request =
        HttpRequest.newBuilder(URI.create(server.url() + "/api/v1/nodes")).build();
    return HttpClient.newHttpClient().send(request, BodyHandlers.ofString()).statusCode() == 200;
  }

  @Override
  public void close() throws Exception {
    flink.close();
    redis.close();
    services.close();
    zooKeeperServers.close();
  }
}
