package io.tapline.control.query.services;

import io.tapline.control.PipelineException;
import io.tapline.flink.KafkaEndpoint;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.apache.kafka.clients.admin.Config;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.admin.OffsetSpec;
import org.apache.kafka.clients.admin.TopicDescription;
import org.apache.kafka.common.KafkaFuture;
import org.apache.kafka.common.Node;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.errors.InvalidTopicException;
import org.apache.kafka.common.errors.UnknownTopicOrPartitionException;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The topics of queries: one per query, created before the first write and deleted after the last
 * read.
 */
public final class Topics implements AutoCloseable {
  static final String PREFIX = "tapline.tuples.";

  private static final Logger LOG = LoggerFactory.getLogger(Topics.class);

  private static final long PAUSE_MS = 20;
  private static final String MAX_MESSAGE_BYTES = Integer.toString(4 << 20);

  private final KafkaAdmin admin;
  private final TopicRights rights;

  public Topics(KafkaEndpoint kafka, KafkaAccess access) throws PipelineException {
    this.admin = new KafkaAdmin(kafka);
    this.rights = new TopicRights(admin, access);
  }

  /** Returns the query of a topic. */
  static String queryOf(String topic) {
    return topic.substring(PREFIX.length());
  }

  /** Returns the manager of the topics' ACLs. */
  TopicRights rights() {
    return rights;
  }

  /** Verifies that the brokers can be reached. */
  public void requireReachable() throws PipelineException {
    await(admin.client().describeCluster().nodes(), "describe the cluster");
  }

  public boolean reachable() {
    try {
      requireReachable();
      return true;
    } catch (PipelineException e) {
      return false;
    }
  }

  /** Returns the free share of the fullest disk; NaN if no broker reports it. */
  public double diskFree() throws PipelineException {
    return await(admin.client().describeLogDirs(brokerIds()).allDescriptions(), "list disks")
        .values()
        .stream()
        .flatMap(folders -> folders.values().stream())
        .filter(folder -> folder.totalBytes().isPresent() && folder.usableBytes().isPresent())
        .mapToDouble(
            folder -> (double) folder.usableBytes().getAsLong() / folder.totalBytes().getAsLong())
        .min()
        .orElse(Double.NaN);
  }

  /** Returns the brokers that are up now. */
  Collection<Node> brokers() throws PipelineException {
    return await(admin.client().describeCluster().nodes(), "list the brokers");
  }

  /**
   * A topic to be created.
   *
   * @param live true if its query captures live traffic, so that the topic's size must be limited
   * @param leaders broker that leads each partition; empty if Kafka may choose
   * @param users users that may write to the topic, and topics that its reader may write alerts to
   */
  public record WantedTopic(
      String topic, int partitions, boolean live, List<Integer> leaders, TopicRights.Users users) {}

  /** Creates a topic and grants rights on it; returns when it can be written and read. */
  public void create(WantedTopic wanted, TopicPolicy policy) throws PipelineException {
    String topic = wanted.topic();
    boolean isLive = wanted.live();
    Map<String, String> settings = new HashMap<>();
    settings.put("max.message.bytes", MAX_MESSAGE_BYTES);
    settings.put("segment.bytes", Long.toString(policy.segmentBytes(isLive)));
    settings.put("retention.ms", "-1");
    settings.put("retention.bytes", isLive ? Long.toString(policy.liveBytes()) : "-1");
    NewTopic madeTopic = newTopic(wanted).configs(settings);
    TopicRights.PendingRequest granted = rights.grant(topic, wanted.users());
    await(admin.client().createTopics(List.of(madeTopic)).all(), "create topic " + topic);
    granted.await();
    long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(KafkaAdmin.TIMEOUT_SECONDS);
    while (!exists(topic, wanted.partitions()) || !rights.areKnown(topic, wanted.users())) {
      if (System.nanoTime() > deadline) {
        throw admin.failure("find topic " + topic, new TimeoutException("it does not appear"));
      }
      pause();
    }
  }

  /** Returns the topic's definition, with the brokers' default number of replicas. */
  private NewTopic newTopic(WantedTopic wanted) throws PipelineException {
    List<Integer> available = wanted.leaders().isEmpty() ? List.of() : brokerIds();
    if (available.isEmpty() || !available.containsAll(wanted.leaders())) {
      return new NewTopic(wanted.topic(), Optional.of(wanted.partitions()), Optional.empty());
    }
    int replicas = Math.min(available.size(), defaultReplicas(available.get(0)));
    Map<Integer, List<Integer>> assignment = new HashMap<>();
    for (int partition = 0; partition < wanted.partitions(); partition++) {
      assignment.put(partition, replicas(available, wanted.leaders().get(partition), replicas));
    }
    return new NewTopic(wanted.topic(), assignment);
  }

  /** Returns a partition's replicas: the leader, and the next brokers in order of ID. */
  private static List<Integer> replicas(List<Integer> brokers, int leader, int count) {
    int first = brokers.indexOf(leader);
    return IntStream.range(first, first + count)
        .mapToObj(index -> brokers.get(index % brokers.size()))
        .toList();
  }

  private List<Integer> brokerIds() throws PipelineException {
    return brokers().stream().map(Node::id).sorted().toList();
  }

  private int defaultReplicas(int broker) throws PipelineException {
    ConfigResource resource =
        new ConfigResource(ConfigResource.Type.BROKER, Integer.toString(broker));
    Config settings =
        await(
            admin.client().describeConfigs(List.of(resource)).values().get(resource),
            "read a broker's settings");
    return Integer.parseInt(settings.get("default.replication.factor").value());
  }

  private long written(String topic, int partitions) throws PipelineException {
    Map<TopicPartition, OffsetSpec> wanted = new HashMap<>();
    for (int partition = 0; partition < partitions; partition++) {
      wanted.put(new TopicPartition(topic, partition), OffsetSpec.latest());
    }
    return await(admin.client().listOffsets(wanted).all(), "determine the length of " + topic)
        .values()
        .stream()
        .mapToLong(end -> end.offset())
        .sum();
  }

  /** Returns the number of records written to all partitions of a topic since it was created. */
  long written(String topic) throws PipelineException {
    var described =
        await(
            admin.client().describeTopics(List.of(topic)).allTopicNames(),
            "describe topic " + topic);
    return written(topic, described.get(topic).partitions().size());
  }

  /** Returns the existing query topics, including those of other servers. */
  Set<String> ofQueries() throws PipelineException {
    return await(admin.client().listTopics().names(), "list topics").stream()
        .filter(name -> name.startsWith(PREFIX))
        .collect(Collectors.toSet());
  }

  /**
   * Returns the missing topics among these.
   *
   * @throws PipelineException if Kafka does not answer; the message names no server, since tenants
   *     see it
   */
  public Set<String> missing(Set<String> topics) throws PipelineException {
    Set<String> missing = new TreeSet<>();
    for (Map.Entry<String, KafkaFuture<TopicDescription>> entry :
        admin.client().describeTopics(topics).topicNameValues().entrySet()) {
      try {
        await(entry.getValue(), "look for topic " + entry.getKey());
      } catch (PipelineException e) {
        if (!isAbsent(e.getCause())) {
          LOG.warn("{}", e.getMessage());
          throw new PipelineException(
              PipelineException.Kind.RESOURCES,
              "Kafka does not answer, so the alerts' topic '%s' can't be checked: try again later"
                  .formatted(entry.getKey()),
              e);
        }
        missing.add(entry.getKey());
      }
    }
    return missing;
  }

  private static boolean isAbsent(Throwable cause) {
    return cause instanceof UnknownTopicOrPartitionException
        || cause instanceof InvalidTopicException;
  }

  private boolean exists(String topic, int partitions) throws PipelineException {
    try {
      var described =
          admin
              .client()
              .describeTopics(List.of(topic))
              .allTopicNames()
              .get(KafkaAdmin.REQUEST_MS, TimeUnit.MILLISECONDS);
      return described.get(topic).partitions().stream().filter(p -> p.leader() != null).count()
          == partitions;
    } catch (ExecutionException | TimeoutException notYet) {
      return false;
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw admin.failure("find topic " + topic, e);
    }
  }

  private void pause() throws PipelineException {
    try {
      Thread.sleep(PAUSE_MS);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw admin.failure("wait for a topic", e);
    }
  }

  /** Deletes a topic and all rights on it; it need not exist. */
  void delete(String topic) throws PipelineException {
    TopicRights.PendingRequest revoked = rights.revoke(topic);
    try {
      await(admin.client().deleteTopics(List.of(topic)).all(), "delete topic " + topic);
    } catch (PipelineException e) {
      if (!(e.getCause() instanceof UnknownTopicOrPartitionException)) {
        throw e;
      }
    }
    revoked.await();
  }

  private <T> T await(KafkaFuture<T> future, String action) throws PipelineException {
    return admin.await(future, action);
  }

  @Override
  public void close() {
    admin.close();
  }
}
