package io.tapline.control.query.services;

import static org.assertj.core.api.Assertions.assertThat;

import io.tapline.control.embedded.EmbeddedKafka;
import io.tapline.flink.KafkaClients;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.concurrent.atomic.AtomicBoolean;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.serialization.StringSerializer;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Tests the lifetime of topics on a real broker. */
class TopicKeeperTest {
  private static final Duration LONG = Duration.ofHours(1);
  private static final long MEBIBYTE = 1 << 20;

  @TempDir static Path directory;
  private static EmbeddedKafka kafka;
  private static Topics topics;

  @BeforeAll
  static void start() throws Exception {
    kafka = EmbeddedKafka.start(directory, "", reason -> {});
    topics = new Topics(kafka.endpoint(), KafkaAccess.withoutLogins(kafka.endpoint()));
  }

  @AfterAll
  static void stop() {
    topics.close();
    kafka.close();
  }

  private static TopicKeeper keeper(Duration kept, Duration orphanAfter) {
    return new TopicKeeper(topics, new TopicPolicy(kept, 8 * MEBIBYTE, orphanAfter));
  }

  private static Topics.WantedTopic wanted(String topic, int partitions, boolean isLive) {
    return new Topics.WantedTopic(topic, partitions, isLive, List.of(), TopicRights.Users.NONE);
  }

  private static void await(Callable<Boolean> condition) throws Exception {
    long end = System.nanoTime() + Duration.ofSeconds(60).toNanos();
    while (!condition.call()) {
      assertThat(System.nanoTime()).isLessThan(end);
      Thread.sleep(50);
    }
  }

  @Test
  void aBrokerReportsItsFreeDiskSpace() throws Exception {
    assertThat(topics.diskFree()).isGreaterThan(0).isLessThan(1);
  }

  @Test
  void aTopicIsKeptAsConfiguredButNotBeyondTheServer() throws Exception {
    TopicKeeper keeper = keeper(LONG, LONG);
    keeper.create(wanted("tapline.tuples.kept", 2, false));
    keeper.retire("tapline.tuples.kept");
    assertThat(topics.ofQueries()).contains("tapline.tuples.kept");
    keeper.close();
    // The controller has deleted the topic, but the broker learns of it a moment later.
    await(() -> !topics.ofQueries().contains("tapline.tuples.kept"));

    try (TopicKeeper shorter = keeper(Duration.ofMillis(1), LONG)) {
      shorter.create(wanted("tapline.tuples.short", 1, false));
      shorter.retire("tapline.tuples.short");
      await(() -> !topics.ofQueries().contains("tapline.tuples.short"));
    }
    try (TopicKeeper none = keeper(Duration.ZERO, LONG)) {
      none.create(wanted("tapline.tuples.none", 1, false));
      none.retire("tapline.tuples.none");
      await(() -> !topics.ofQueries().contains("tapline.tuples.none"));
    }
  }

  @Test
  void partitionsAreLedByTheChosenBrokersWhileTheyRun() throws Exception {
    int broker = topics.brokers().iterator().next().id();
    try (TopicKeeper keeper = keeper(Duration.ZERO, LONG)) {
      keeper.create(
          new Topics.WantedTopic(
              "tapline.tuples.led", 2, true, List.of(broker, broker), TopicRights.Users.NONE));
      keeper.create(
          new Topics.WantedTopic(
              "tapline.tuples.gone", 1, true, List.of(broker + 7), TopicRights.Users.NONE));
      assertThat(topics.ofQueries()).contains("tapline.tuples.led", "tapline.tuples.gone");
      assertThat(topics.written("tapline.tuples.led")).isZero();
    }
  }

  @Test
  void leftoversOfAKilledServerAreRemovedButActiveTopicsStay() throws Exception {
    // This keeper is never closed, which simulates a killed process.
    TopicKeeper otherKeeper = keeper(Duration.ZERO, LONG);
    otherKeeper.create(wanted("tapline.tuples.orphan", 1, true));
    otherKeeper.create(wanted("tapline.tuples.alive", 1, true));
    AtomicBoolean writing = new AtomicBoolean(true);
    Thread monitor = new Thread(() -> write("tapline.tuples.alive", writing));
    monitor.start();
    try (TopicKeeper ownKeeper = keeper(Duration.ZERO, Duration.ofSeconds(8))) {
      ownKeeper.create(wanted("tapline.tuples.ours", 1, true));
      await(() -> !topics.ofQueries().contains("tapline.tuples.orphan"));
      assertThat(topics.ofQueries()).contains("tapline.tuples.alive", "tapline.tuples.ours");
    } finally {
      writing.set(false);
      monitor.join();
    }
  }

  private static void write(String topic, AtomicBoolean writing) {
    var serializer = new StringSerializer();
    Map<String, Object> settings = KafkaClients.settings(kafka.endpoint());
    settings.put("linger.ms", 0);
    try (var producer = new KafkaProducer<>(settings, serializer, serializer)) {
      while (writing.get()) {
        producer.send(new ProducerRecord<>(topic, "heartbeat"));
        Thread.sleep(50);
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  @Test
  void topicsOfLiveQueriesAreBoundedAndOthersAreNot() throws Exception {
    try (TopicKeeper keeper = keeper(Duration.ZERO, LONG)) {
      keeper.create(wanted("tapline.tuples.live", 1, true));
      keeper.create(wanted("tapline.tuples.capture", 1, false));
      assertThat(setting("tapline.tuples.live", "retention.bytes"))
          .isEqualTo(Long.toString(8 * MEBIBYTE));
      assertThat(setting("tapline.tuples.live", "segment.bytes"))
          .isEqualTo(Long.toString(2 * MEBIBYTE));
      assertThat(setting("tapline.tuples.capture", "retention.bytes")).isEqualTo("-1");
      assertThat(setting("tapline.tuples.capture", "retention.ms")).isEqualTo("-1");
    }
  }

  private static String setting(String topic, String name) throws Exception {
    ConfigResource resource = new ConfigResource(ConfigResource.Type.TOPIC, topic);
    try (Admin admin = Admin.create(KafkaClients.settings(kafka.endpoint()))) {
      return admin.describeConfigs(List.of(resource)).all().get().get(resource).get(name).value();
    }
  }
}
