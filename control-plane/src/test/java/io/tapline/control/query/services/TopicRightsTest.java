package io.tapline.control.query.services;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.tapline.control.JobKey;
import io.tapline.control.PipelineException;
import io.tapline.control.embedded.EmbeddedKafka;
import io.tapline.flink.KafkaClients;
import io.tapline.flink.KafkaEndpoint;
import io.tapline.flink.Login;
import io.tapline.flink.TlsFiles;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.acl.AclBindingFilter;
import org.apache.kafka.common.errors.AuthorizationException;
import org.apache.kafka.common.errors.ClusterAuthorizationException;
import org.apache.kafka.common.errors.SaslAuthenticationException;
import org.apache.kafka.common.errors.TopicAuthorizationException;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Tests ACLs on a real broker with an authorizer. */
class TopicRightsTest {
  private static final Duration LONG = Duration.ofHours(1);
  private static final JobKey KEY = JobKey.of("a secret of this test");
  private static final String A = "tapline.tuples.a";
  private static final String B = "tapline.tuples.b";

  @TempDir Path folder;
  private EmbeddedKafka kafka;
  private KafkaAccess access;
  private Topics topics;
  private TopicKeeper keeper;

  @BeforeEach
  void start() throws Exception {
    kafka = EmbeddedKafka.startWithScram(folder);
    access =
        new KafkaAccess(
            KafkaEndpoint.open(kafka.endpoint().brokers()),
            Optional.of(KEY),
            Optional.empty(),
            kafka.key());
    topics = new Topics(kafka.endpoint(), access);
    keeper = keeper(topics, LONG);
  }

  @AfterEach
  void stop() {
    keeper.close();
    topics.close();
    kafka.close();
  }

  private static TopicKeeper keeper(Topics topics, Duration orphanAfter) {
    return new TopicKeeper(topics, new TopicPolicy(Duration.ZERO, 8 << 20, orphanAfter));
  }

  private static Topics.WantedTopic wanted(String topic, Set<String> monitors, String... alerts) {
    return new Topics.WantedTopic(
        topic, 1, true, List.of(), new TopicRights.Users(monitors, Set.of(alerts)));
  }

  private Map<String, Object> settings(Login login) {
    Map<String, Object> settings =
        KafkaClients.settings(new KafkaEndpoint(kafka.endpoint().brokers(), TlsFiles.NONE, login));
    settings.put("request.timeout.ms", 5_000);
    settings.put("default.api.timeout.ms", 10_000);
    return settings;
  }

  /** Returns client settings for a monitor's login, with PLAIN as in librdkafka's settings. */
  private Map<String, Object> monitor(String host) {
    Map<String, Object> settings = settings(Login.NONE);
    Login login = access.hostLogin(host);
    settings.put("security.protocol", "SASL_PLAINTEXT");
    settings.put("sasl.mechanism", "PLAIN");
    settings.put(
        "sasl.jaas.config",
        "org.apache.kafka.common.security.plain.PlainLoginModule required username=\"%s\" password=\"%s\";"
            .formatted(login.user(), login.password()));
    return settings;
  }

  private Map<String, Object> job(String query) {
    return settings(access.jobLogin(query));
  }

  private static void write(Map<String, Object> who, String topic) throws Exception {
    var serializer = new StringSerializer();
    who.put("max.block.ms", 10_000);
    try (var producer = new KafkaProducer<>(who, serializer, serializer)) {
      producer.send(new ProducerRecord<>(topic, 0, null, "tuple")).get(30, TimeUnit.SECONDS);
    } catch (ExecutionException e) {
      throw (Exception) e.getCause();
    }
  }

  /** Reads a topic without a consumer group, as jobs do. */
  private static int read(Map<String, Object> who, String topic) {
    var deserializer = new StringDeserializer();
    who.put("auto.offset.reset", "earliest");
    try (var consumer = new KafkaConsumer<>(who, deserializer, deserializer)) {
      consumer.assign(List.of(new TopicPartition(topic, 0)));
      int count = 0;
      for (int attempt = 0; attempt < 40 && count == 0; attempt++) {
        count += consumer.poll(Duration.ofMillis(250)).count();
      }
      return count;
    }
  }

  private static void await(Callable<Boolean> condition) throws Exception {
    long end = System.nanoTime() + Duration.ofSeconds(60).toNanos();
    while (!condition.call()) {
      assertThat(System.nanoTime()).isLessThan(end);
      Thread.sleep(50);
    }
  }

  private int rights() throws Exception {
    try (Admin admin = Admin.create(KafkaClients.settings(kafka.endpoint()))) {
      return admin.describeAcls(AclBindingFilter.ANY).values().get().size();
    }
  }

  private Set<String> users() throws Exception {
    try (Admin admin = Admin.create(KafkaClients.settings(kafka.endpoint()))) {
      return Set.copyOf(admin.describeUserScramCredentials().users().get());
    }
  }

  @Test
  void aMonitorMayOnlyWriteTheTopicsOfItsQueries() throws Exception {
    keeper.create(wanted(A, Set.of("h1")));
    keeper.create(wanted(B, Set.of("h2")));
    write(monitor("h1"), A);
    assertThatThrownBy(() -> write(monitor("h1"), B))
        .isInstanceOf(TopicAuthorizationException.class);
    assertThatThrownBy(() -> read(monitor("h1"), A)).isInstanceOf(AuthorizationException.class);
    try (Admin admin = Admin.create(monitor("h1"))) {
      assertThat(admin.listTopics().names().get()).containsExactly(A);
      assertThatThrownBy(
              () -> admin.createTopics(List.of(new NewTopic("mine", 1, (short) 1))).all().get())
          .hasCauseInstanceOf(AuthorizationException.class);
      assertThatThrownBy(() -> admin.deleteTopics(List.of(A)).all().get())
          .hasCauseInstanceOf(TopicAuthorizationException.class);
      assertThatThrownBy(() -> admin.describeAcls(AclBindingFilter.ANY).values().get())
          .hasCauseInstanceOf(ClusterAuthorizationException.class);
    }
  }

  @Test
  void aJobReadsItsQuerysTopicAndWritesTheTopicsOfItsAlerts() throws Exception {
    try (Admin admin = Admin.create(KafkaClients.settings(kafka.endpoint()))) {
      for (String topic : List.of("alerts", "others")) {
        admin.createTopics(List.of(new NewTopic(topic, 1, (short) 1))).all().get();
      }
    }
    keeper.create(wanted(A, Set.of("h1"), "alerts"));
    keeper.create(wanted(B, Set.of("h1")));
    write(monitor("h1"), A);
    write(monitor("h1"), B);
    assertThat(read(job("a"), A)).isEqualTo(1);
    write(job("a"), "alerts");
    assertThatThrownBy(() -> read(job("a"), B)).isInstanceOf(AuthorizationException.class);
    for (String topic : List.of("others", A, B)) {
      assertThatThrownBy(() -> write(job("a"), topic))
          .isInstanceOf(TopicAuthorizationException.class);
    }
    assertThatThrownBy(() -> read(settings(new Login("job-a", "guessed")), A))
        .isInstanceOf(SaslAuthenticationException.class);
  }

  @Test
  void aReplacedMonitorMayNoLongerWrite() throws Exception {
    keeper.create(wanted(A, Set.of("h1", "h2")));
    keeper.move(A, Set.of("h2", "h3"));
    await(
        () -> {
          try {
            write(monitor("h1"), A);
            return false;
          } catch (AuthorizationException e) {
            // If the right ends during the attempt, Kafka refuses the producer's ID instead.
            return true;
          }
        });
    write(monitor("h2"), A);
    write(monitor("h3"), A);
  }

  @Test
  void anEndedQueryLeavesNoRights() throws Exception {
    Set<String> previousUsers = users();
    keeper.create(wanted(A, Set.of("h1"), "alerts"));
    keeper.create(wanted(B, Set.of("h1")));
    assertThat(users()).contains("job-a", "job-b");
    keeper.retire(A);
    await(() -> users().equals(Set.of("job-b")) && rights() == 2);
    keeper.retire(B);
    await(() -> users().equals(previousUsers) && rights() == 0);
  }

  @Test
  void anotherControlPlaneTakesOverAndRemovesOrphanedRights() throws Exception {
    keeper.create(wanted(A, Set.of("h1", "h2")));
    keeper.create(wanted(B, Set.of("h1")));
    // Simulates a control plane that failed after it had granted rights on a topic that does not
    // exist.
    topics
        .rights()
        .grant("tapline.tuples.gone", new TopicRights.Users(Set.of("h1"), Set.of()))
        .await();
    write(monitor("h1"), A);
    try (Topics otherTopics = new Topics(kafka.endpoint(), access);
        TopicKeeper next = keeper(otherTopics, Duration.ofSeconds(4))) {
      next.resume(wanted(A, Set.of("h2")));
      write(monitor("h2"), A);
      assertThat(read(job("a"), A)).isPositive();
      await(() -> users().equals(Set.of("job-a")) && rights() == 2);
      assertThatThrownBy(() -> write(monitor("h1"), A))
          .isInstanceOf(TopicAuthorizationException.class);
      next.move(A, Set.of("h4"));
      await(() -> rights() == 2);
      write(monitor("h4"), A);
    }
  }

  @Test
  void alertsMayNotGoToTopicsOfTuplesOrOfTheBroker() {
    assertThat(TopicRights.mayTakeAlerts("alerts")).isTrue();
    for (String topic : List.of("", B, "tapline.other", "__consumer_offsets")) {
      assertThat(TopicRights.mayTakeAlerts(topic)).as(topic).isFalse();
    }
  }

  @Test
  void aControlPlaneWithoutTheRightToGrantGetsAdvice() throws Exception {
    KafkaEndpoint weak =
        new KafkaEndpoint(kafka.endpoint().brokers(), TlsFiles.NONE, access.jobLogin("a"));
    keeper.create(wanted(A, Set.of("h1")));
    try (Topics refusedTopics = new Topics(weak, access)) {
      assertThatThrownBy(
              () -> refusedTopics.create(wanted(B, Set.of("h1")), TopicPolicy.defaults()))
          .isInstanceOf(PipelineException.class)
          .hasMessageContaining("super.users");
    }
  }
}
