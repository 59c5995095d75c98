package io.tapline.matrix;

import io.tapline.flink.KafkaClients;
import io.tapline.flink.KafkaEndpoint;
import io.tapline.flink.Login;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.DescribeTopicsOptions;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.admin.TopicDescription;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.KafkaFuture;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.acl.AclBindingFilter;
import org.apache.kafka.common.acl.AclOperation;
import org.apache.kafka.common.errors.AuthenticationException;
import org.apache.kafka.common.errors.AuthorizationException;
import org.apache.kafka.common.errors.TopicExistsException;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/** Probes of the brokers' ports as a Kafka client. */
final class KafkaProbes {
  /** Topic that exists only while a probe creates or deletes it. */
  private static final String SCRATCH = "tapline.matrix";

  private static final String TUPLES = "tapline.tuples.";

  /**
   * Tuple topic that no monitor may write. No query of this name exists, since monitors may serve
   * any query that runs.
   */
  private static final String UNSERVED = TUPLES + "web-unserved";

  /** Port to which monitors and control planes connect. */
  static final int CLIENTS = 9092;

  /** Port to which stream jobs connect. */
  static final int JOBS = 9094;

  private static final int TIMEOUT_MS = 30_000;
  private static final Login GUESS = new Login("job-guess", "a-guess-of-a-password");

  private final Cluster cluster;

  KafkaProbes(Cluster cluster) {
    this.cluster = cluster;
  }

  /** Tries an operation of the access table on a broker's port. */
  void run(String operation, Component client, int port) throws Exception {
    Map<String, Object> settings = settings(client, port);
    switch (operation) {
      case "create-topic" -> createTopic(settings);
      case "delete-topic" -> deleteTopic(settings);
      case "describe-acls" -> describeAcls(settings);
      case "write-own-tuples" -> write(settings, TUPLES + cluster.own());
      case "write-other-tuples" -> write(settings, other(port));
      case "read-own-tuples" -> read(settings, TUPLES + cluster.own());
      case "read-other-tuples" -> read(settings, other(port));
      case "write-own-alerts" -> write(settings, cluster.ownAlerts());
      case "write-other-alerts" -> write(settings, cluster.otherAlerts());
      default -> throw new IllegalArgumentException("no probe for " + operation);
    }
  }

  /** Creates the topics that probes need in addition to those of the queries. */
  void prepare(Component control) throws Exception {
    try (Admin admin = admin(control)) {
      for (String topic : List.of(cluster.ownAlerts(), cluster.otherAlerts(), UNSERVED)) {
        answer(admin.createTopics(List.of(new NewTopic(topic, 1, (short) 1))).all());
      }
    }
  }

  /** Returns an administration client for the brokers. */
  static Admin admin(Component control) {
    return Admin.create(settings(control, CLIENTS));
  }

  /**
   * Returns the tuple topic of a query that the client does not serve. For a job, that is another
   * tenant's query. A monitor may serve all running queries, so the topic is one that no monitor
   * serves.
   */
  String other(int port) {
    return port == JOBS ? TUPLES + cluster.other() : UNSERVED;
  }

  /** Returns client settings. A component without a login guesses one if the port requires it. */
  private static Map<String, Object> settings(Component client, int port) {
    boolean requiresLogin = port == JOBS;
    Login login = requiresLogin && client.kafka().isNone() ? GUESS : client.kafka();
    Map<String, Object> settings =
        new HashMap<>(
            KafkaClients.settings(
                new KafkaEndpoint(
                    "kafka-1:" + port, client.tls(), requiresLogin ? login : Login.NONE)));
    settings.put("request.timeout.ms", TIMEOUT_MS / 2);
    settings.put("default.api.timeout.ms", TIMEOUT_MS);
    settings.put("max.block.ms", TIMEOUT_MS);
    settings.put("delivery.timeout.ms", TIMEOUT_MS);
    settings.put("linger.ms", 0);
    return settings;
  }

  private void createTopic(Map<String, Object> settings) throws Exception {
    try (Admin admin = Admin.create(settings)) {
      answer(admin.createTopics(List.of(new NewTopic(SCRATCH, 1, (short) 1))).all());
      answer(admin.deleteTopics(List.of(SCRATCH)).all());
    }
  }

  private void deleteTopic(Map<String, Object> settings) throws Exception {
    try (Admin admin = Admin.create(settings)) {
      try {
        answer(admin.createTopics(List.of(new NewTopic(SCRATCH, 1, (short) 1))).all());
      } catch (Refused e) {
        // Deletion is refused regardless of whether the topic exists.
      }
      answer(admin.deleteTopics(List.of(SCRATCH)).all());
    }
  }

  private void describeAcls(Map<String, Object> settings) throws Exception {
    try (Admin admin = Admin.create(settings)) {
      answer(admin.describeAcls(AclBindingFilter.ANY).values());
    }
  }

  /**
   * Writes a record. A record in a tuple topic would change a query's results, so for these topics,
   * the probe first asks the broker whether the client may write, and writes only if it may not.
   */
  private void write(Map<String, Object> settings, String topic) throws Exception {
    if (topic.startsWith(TUPLES) && operations(settings, topic).contains(AclOperation.WRITE)) {
      return;
    }
    try (KafkaProducer<byte[], byte[]> producer =
        new KafkaProducer<>(settings, new ByteArraySerializer(), new ByteArraySerializer())) {
      answer(() -> producer.send(new ProducerRecord<>(topic, 0, null, new byte[0])).get());
    }
  }

  private Set<AclOperation> operations(Map<String, Object> settings, String topic)
      throws Exception {
    try (Admin admin = Admin.create(settings)) {
      TopicDescription described =
          answer(
                  admin
                      .describeTopics(
                          List.of(topic),
                          new DescribeTopicsOptions().includeAuthorizedOperations(true))
                      .allTopicNames())
              .get(topic);
      return described.authorizedOperations();
    }
  }

  private void read(Map<String, Object> settings, String topic) throws Exception {
    settings.put("auto.offset.reset", "earliest");
    try (KafkaConsumer<byte[], byte[]> consumer =
        new KafkaConsumer<>(settings, new ByteArrayDeserializer(), new ByteArrayDeserializer())) {
      TopicPartition partition = new TopicPartition(topic, 0);
      consumer.assign(List.of(partition));
      answer(
          () -> {
            consumer.seekToBeginning(List.of(partition));
            return consumer.poll(Duration.ofSeconds(2));
          });
    }
  }

  private static <T> T answer(KafkaFuture<T> future) throws Exception {
    return answer(() -> future.get(2 * TIMEOUT_MS, TimeUnit.MILLISECONDS));
  }

  private interface Call<T> {
    T get() throws Exception;
  }

  private static <T> T answer(Call<T> call) throws Exception {
    try {
      return call.get();
    } catch (AuthorizationException | AuthenticationException e) {
      throw new Refused(e.getMessage());
    } catch (ExecutionException e) {
      Throwable cause = e.getCause();
      if (cause instanceof AuthorizationException || cause instanceof AuthenticationException) {
        throw new Refused(cause.getMessage());
      }
      if (cause instanceof TopicExistsException) {
        return null;
      }
      throw e;
    }
  }
}
