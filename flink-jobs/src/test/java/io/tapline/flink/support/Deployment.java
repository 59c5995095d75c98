package io.tapline.flink.support;

import com.google.protobuf.util.JsonFormat;
import io.tapline.schema.proto.Plan;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Base64;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.stream.Stream;
import org.apache.flink.api.common.JobID;
import redis.clients.jedis.Jedis;
import redis.clients.jedis.StreamEntryID;

/**
 * Runs all servers on a query's path in separate processes: ZooKeeper, a broker, a Redis server
 * with an append-only file, and a highly available Flink session cluster to which the job's jar was
 * uploaded.
 */
public final class Deployment implements AutoCloseable {
  private final Path directory;
  private final ZooKeeperProcess zooKeeper;
  public final BrokerProcess broker;
  public final RedisServer redis;
  public final SessionCluster cluster;
  private final String jar;

  public Deployment(Path directory) throws Exception {
    this.directory = directory;
    zooKeeper = new ZooKeeperProcess(directory.resolve("zookeeper"));
    broker = new BrokerProcess(directory.resolve("kafka"));
    redis = new RedisServer(Files.createDirectories(directory.resolve("redis")));
    cluster =
        new SessionCluster(directory.resolve("flink"), highAvailability(directory, zooKeeper));
    jar = cluster.rest().upload(SessionCluster.jobJar(directory.resolve("jar")));
  }

  private static Map<String, String> highAvailability(Path directory, ZooKeeperProcess zooKeeper) {
    return Map.of(
        "high-availability.type",
        "zookeeper",
        "high-availability.zookeeper.quorum",
        zooKeeper.address(),
        "high-availability.storageDir",
        directory.resolve("ha").toUri().toString(),
        "high-availability.zookeeper.client.session-timeout",
        "4s",
        // Failures that do not break a connection are detected by missing heartbeats.
        "heartbeat.interval",
        "1s",
        "heartbeat.timeout",
        "10s",
        // The number of ended jobs that are remembered, and the time in seconds for which their
        // jars are kept.
        "jobstore.max-capacity",
        "4",
        "blob.service.cleanup.interval",
        "5");
  }

  /** Starts a plan's job; returns its ID. */
  public String submit(Plan plan, String... more) throws Exception {
    String id = JobID.generate().toHexString();
    String json = JsonFormat.printer().preservingProtoFieldNames().print(plan);
    List<String> arguments = new ArrayList<>();
    arguments.add("--plan");
    arguments.add(Base64.getEncoder().encodeToString(json.getBytes(StandardCharsets.UTF_8)));
    arguments.addAll(List.of("--brokers", broker.client().brokers()));
    arguments.addAll(List.of("--redis", "127.0.0.1:" + redis.port()));
    arguments.addAll(
        List.of("--checkpoint-dir", directory.resolve("checkpoints").toUri().toString()));
    arguments.addAll(List.of(more));
    String response = cluster.rest().run(jar, id, arguments).toString();
    if (!response.contains(id)) {
      throw new IllegalArgumentException(response);
    }
    return id;
  }

  /** Waits until a job has ended. */
  public void awaitEnd(String id) throws Exception {
    try {
      Deadline.await("the end of job " + id, () -> cluster.rest().ended(id));
    } catch (AssertionError e) {
      throw new AssertionError(cluster.rest().get("/jobs/" + id).toString(), e);
    }
    String state = cluster.rest().state(id);
    if (!state.equals("FINISHED")) {
      throw new AssertionError(state + ": " + cluster.rest().get("/jobs/" + id + "/exceptions"));
    }
  }

  /** Deletes the folders of an ended job, which Flink empties but does not delete. */
  public void deleteCheckpoints(String id) throws IOException {
    Path folder = directory.resolve("checkpoints").resolve(id);
    if (Files.exists(folder)) {
      try (Stream<Path> files = Files.walk(folder)) {
        for (Path file : files.sorted(Comparator.reverseOrder()).toList()) {
          Files.delete(file);
        }
      }
    }
  }

  public long windows(String query) {
    try (Jedis jedis = redis.client()) {
      return jedis.xlen("tapline:query:" + query + ":windows");
    }
  }

  /**
   * Returns everything that Redis stores for a query, by key, except the query's name and the IDs
   * and order of its windows. Omits snapshots of whole queries, since their content depends on
   * timing.
   *
   * @param snapshots processors whose window is the whole query
   */
  public Map<String, List<String>> results(String query, Set<String> snapshots) {
    Map<String, List<String>> results = new TreeMap<>();
    try (Jedis jedis = redis.client()) {
      for (String key : jedis.keys("tapline:query:" + query + ":*")) {
        List<String> content = new ArrayList<>();
        switch (jedis.type(key)) {
          case "stream" ->
              jedis.xrange(key, (StreamEntryID) null, null).stream()
                  .filter(entry -> !snapshots.contains(entry.getFields().get("processor")))
                  .map(entry -> new TreeMap<>(entry.getFields()).toString())
                  .sorted()
                  .forEach(content::add);
          case "hash" -> content.add(new TreeMap<>(jedis.hgetAll(key)).toString());
          case "zset" -> content.add(jedis.zrangeWithScores(key, 0, -1).toString());
          default -> content.add(jedis.get(key));
        }
        content.replaceAll(text -> text.replace(query, "QUERY"));
        results.put(key.replace(query, "QUERY"), content);
      }
    }
    return results;
  }

  @Override
  public void close() throws Exception {
    cluster.close();
    redis.close();
    broker.close();
    zooKeeper.close();
  }
}
