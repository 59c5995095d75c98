package io.tapline.e2e;

import io.tapline.control.embedded.EmbeddedServices;
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

/**
 * What several control planes share: a ZooKeeper, a broker and a Redis, and a Flink cluster of
 * processes. Each is real.
 */
final class Coordinated implements AutoCloseable {
  final FlinkCluster flink;
  private final EmbeddedServices services;
  private final TestZooKeeper zooKeeper;

  Coordinated(Path folder) throws Exception {
    CompletableFuture<FlinkCluster> cluster =
        CompletableFuture.supplyAsync(
            () -> {
              try {
                return new FlinkCluster(Files.createDirectory(folder.resolve("flink")));
              } catch (Exception e) {
                throw new IllegalStateException(e);
              }
            });
    Path data = Files.createDirectory(folder.resolve("zookeeper"));
    zooKeeper = new TestZooKeeper(data);
    services = EmbeddedServices.start();
    flink = cluster.join();
  }

  String zooKeeper() {
    return zooKeeper.address();
  }

  /** A server's options. */
  List<String> options(String agents, String... more) {
    String redis = services.endpoints().redisHost() + ":" + services.endpoints().redisPort();
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
                services.endpoints().brokers(),
                "--redis",
                redis,
                "--flink",
                flink.url()));
    options.addAll(List.of(more));
    return options;
  }

  /** Whether a server leads: one that follows says where to ask. */
  static boolean leads(Server server) throws Exception {
    HttpRequest request =
        HttpRequest.newBuilder(URI.create(server.url() + "/api/v1/nodes")).build();
    return HttpClient.newHttpClient().send(request, BodyHandlers.ofString()).statusCode() == 200;
  }

  @Override
  public void close() throws Exception {
    flink.close();
    services.close();
    zooKeeper.close();
  }
}
